import { presentJob } from '../../../present/job.ts';
import { presentHistory } from '../../../present/jobHistory.ts';
import { defineRoute } from '../../route.ts';
import { completedJobExample } from './examples.ts';
import { jobId, waitParameters } from './parameters.ts';
import { jobHistoryShape, jobShape } from './shape.ts';

export const getJob = defineRoute({
  method: 'GET',
  path: '/api/jobs/:id',
  role: 'viewer',
  name: 'getJob',
  tag: 'Jobs',
  summary: 'Read a job with its result',
  description:
    'With `wait` the response comes when the job has ended or the time has run out. Archived jobs are found too.',

  params: { id: jobId },
  query: waitParameters,
  answers: {
    200: { description: 'The job.', shape: jobShape, examples: { completed: completedJobExample } },
  },
  problems: ['JobNotFound', 'StoreUnavailable'],

  handle: async ({ params: { id }, query: { wait }, whenGone }, { coordinator }) => {
    const view = wait === 0 ? coordinator.job(id) : coordinator.jobAtEnd(id, wait * 1000, whenGone());
    return { json: presentJob(await view) };
  },
});

export const getJobHistory = defineRoute({
  method: 'GET',
  path: '/api/jobs/:id/history',
  role: 'viewer',
  name: 'getJobHistory',
  tag: 'Jobs',
  summary: 'The states that a job went through',
  description:
    'Every change of state with its time and the event that caused it, oldest first; the last entry leads to the current state. The history survives restarts and archiving. If a job flaps, the oldest entries are dropped.',

  params: { id: jobId },
  answers: {
    200: {
      description: 'The history.',
      shape: jobHistoryShape,
      examples: {
        completed: {
          value: {
            job_id: '019aa2f0-6c2b-7c57-9d25-3f1f5d0a7c11',
            state: 'completed',
            entries: [
              { at: '2026-11-21T09:00:00.000Z', event: null, from: null, to: 'pending.ready', attempt: null },
              {
                at: '2026-11-21T09:00:00.004Z',
                event: 'job.assigned',
                from: 'pending.ready',
                to: 'running.active',
                attempt: 1,
              },
              {
                at: '2026-11-21T09:00:02.310Z',
                event: 'job.completed',
                from: 'running.active',
                to: 'completed',
                attempt: 1,
              },
            ],
            truncated: false,
          },
        },
      },
    },
  },
  problems: ['JobNotFound', 'StoreUnavailable'],

  handle: async ({ params: { id } }, { coordinator }) => {
    const { job } = await coordinator.job(id);
    return { json: presentHistory(job) };
  },
});

export const cancelJob = defineRoute({
  method: 'POST',
  path: '/api/jobs/:id/cancel',
  role: 'client',
  name: 'cancelJob',
  tag: 'Jobs',
  summary: 'Cancel a pending or running job',
  description:
    'A pending job never runs. A running one ends at once, its worker is asked to stop, and what the attempt still costs is recorded. A job that has ended returns 409.',

  params: { id: jobId },
  answers: {
    200: {
      description: 'The job as this request left it; it may be assigned a moment later.',
      shape: jobShape,
    },
  },
  problems: ['JobNotFound', 'JobRefuses', 'StoreUnavailable'],

  handle: async ({ params: { id } }, { coordinator }) => ({ json: presentJob(await coordinator.cancel(id)) }),
});

export const retryJob = defineRoute({
  method: 'POST',
  path: '/api/jobs/:id/retry',
  role: 'client',
  name: 'retryJob',
  tag: 'Jobs',
  summary: 'Put a failed or stuck job back into the queue',
  description:
    'The job keeps its id, its place in the queue and its history; the counters of automatic retries start again. A running job may be retried only while it is `stuck`. Anything else returns 409.',

  params: { id: jobId },
  answers: {
    200: {
      description: 'The job as this request left it; it may be assigned a moment later.',
      shape: jobShape,
    },
  },
  problems: ['JobNotFound', 'JobRefuses', 'StoreUnavailable'],

  handle: async ({ params: { id } }, { coordinator }) => ({ json: presentJob(await coordinator.retry(id)) }),
});
