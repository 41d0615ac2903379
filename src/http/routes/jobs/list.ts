import type { WireJobList } from '../../../domain/wire/job.ts';
import { presentListed } from '../../../present/job.ts';
import { pageAnswer } from '../../longJson.ts';
import { pageParameters, word, words } from '../../query.ts';
import { defineRoute } from '../../route.ts';
import { exportLines } from './export.ts';
import { filterOf, filterParameters, newestParameter } from './parameters.ts';
import { jobListShape, jobShape } from './shape.ts';

const include = words(['request', 'input', 'result'], {
  description:
    'Parts that lists leave out or cut down unless you ask for them, separated by commas: `request` gives the whole request (prompt, input, messages, tags, params, metadata), `input` the first 500 characters of the input, `result` the whole result.',
  example: ['result'],
});

export const listJobs = defineRoute({
  method: 'GET',
  path: '/api/jobs',
  role: 'viewer',
  name: 'listJobs',
  tag: 'Jobs',
  summary: 'List jobs',
  description:
    'Newest first. A job must match all filters. `provider` and `model` filter by what the job asked for, not by what ran it. Archived jobs are not included. Long fields of a job are shortened, see `ListedJob`. A page has at most 8 MiB, or a single row: if it has fewer rows than `limit` allows, `next_offset` says where to continue.',

  query: { ...filterParameters, newest: newestParameter, include, ...pageParameters },
  answers: {
    200: { description: 'One page of jobs.', shape: jobListShape },
  },

  handle: async ({ query, whenGone }, { coordinator }) => {
    const { limit, offset } = query;
    const filter = filterOf(query, query.newest);
    // The most expensive filter: nobody searches on for a client that has gone.
    const gone = filter.text === null ? undefined : whenGone();
    const page = await coordinator.jobs({ ...filter, limit, offset }, gone);
    const included = new Set(query.include);
    return pageAnswer({
      name: 'jobs',
      rows: page.jobs,
      present: (job) => presentListed(coordinator.view(job), included),
      rest: (given): Omit<WireJobList, 'jobs'> => ({
        total: page.total,
        ...(page.totalCapped ? { total_capped: true } : {}),
        limit,
        offset,
        ...(given < page.jobs.length ? { next_offset: offset + given } : {}),
      }),
    });
  },
});

const archived = word(['true', 'false'], { description: 'Whether to include archived jobs.' }, 'false');

export const exportJobs = defineRoute({
  method: 'GET',
  path: '/api/jobs/export',
  role: 'viewer',
  name: 'exportJobs',
  tag: 'Jobs',
  summary: 'Export jobs',
  description:
    'Every job that matches the filters, in full, one per line: the newest first, and with `archived=true` the archived ones after them, the most recent day first. Each job appears once. The response is produced while you read it, so it may have any length; if something fails midway, the connection breaks before the end.',

  query: { archived, ...filterParameters },
  answers: {
    200: {
      description: 'The jobs, one per line; the schema is that of a line.',
      type: 'application/x-ndjson',
      shape: jobShape,
    },
  },

  handle: ({ query }, { coordinator }) => ({
    type: 'application/x-ndjson',
    chunks: exportLines(coordinator, filterOf(query), query.archived === 'true'),
  }),
});
