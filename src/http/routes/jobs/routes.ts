import type { Config } from '../../../config/config.ts';
import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { JobRequest } from '../../../domain/job.ts';
import { statusOf } from '../../../domain/states.ts';
import type { WireBatch, WireJobList } from '../../../domain/wire/job.ts';
import { presentJob, presentListed } from '../../../present/job.ts';
import { presentHistory } from '../../../present/jobHistory.ts';
import { pageAnswer } from '../../longJson.ts';
import { type BatchBody, batchBody } from '../../middleware/batchBody.ts';
import { jsonBody } from '../../middleware/jsonBody.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import type { Uploads } from '../../uploads.ts';
import { parseBatch } from './batch.ts';
import { type BulkAction, bulkActions, changeMany, parseBulk } from './bulk.ts';
import { exportLines, parseExport } from './export.ts';
import { parseDispatch, parseIdempotencyKey, parseList, parseWait } from './schema.ts';

/** /api/jobs: dispatch, batch, list, export, read, cancel, retry, the last two also of many. */
export function jobRoutes(coordinator: Coordinator, config: () => Config, uploads: Uploads): Route[] {
  const jobBody = jsonBody(uploads, () => config().http.maxBodyBytes);
  return [
    {
      method: 'POST',
      path: '/api/jobs',
      role: 'client',
      body: jobBody,
      handle: async ({ body, query, headers, principal, whenGone, bodyTaken }) => {
        const waitMs = parseWait(query);
        const key = parseIdempotencyKey(headers, principal);
        const request = parseDispatch(body, config());
        const { view, isNew } =
          key === null
            ? { view: await coordinator.dispatch(request, principal), isNew: true }
            : await coordinator.dispatchOnce(key, request, principal);
        const { id } = view.job;
        const turn = bodyTaken();
        if (turn !== null) await turn;
        const shown = waitMs === 0 ? view : await coordinator.jobAtEnd(id, waitMs, whenGone());
        return {
          status: isNew ? 201 : 200,
          headers: { Location: `/api/jobs/${id}` },
          json: presentJob(shown),
        };
      },
    },
    {
      method: 'POST',
      path: '/api/jobs/batch',
      role: 'client',
      body: batchBody(uploads, () => config().http.maxBatchBytes),
      handle: async ({ body, query, headers, principal }) => {
        parseNothing(query);
        const key = parseIdempotencyKey(headers, principal);
        const plan = (request: JobRequest) => coordinator.plan(request);
        const planned = await parseBatch(body as BatchBody, config(), uploads.turns, plan);
        const { jobs, isNew } =
          key === null
            ? { jobs: await coordinator.dispatchAll(planned, principal), isNew: true }
            : await coordinator.dispatchAllOnce(key, planned, principal);
        const taken: WireBatch = {
          jobs: jobs.map(({ id, state }) => ({ id, status: statusOf(state) })),
          count: jobs.length,
        };
        return { status: isNew ? 201 : 200, json: taken };
      },
    },
    {
      method: 'GET',
      path: '/api/jobs',
      role: 'viewer',
      handle: async ({ query: raw, whenGone }) => {
        const { query, include } = parseList(raw);
        // The dearest filter: for a client that has gone nobody searches on.
        const page = await coordinator.jobs(query, query.text === null ? undefined : whenGone());
        const { limit, offset } = query;
        return pageAnswer({
          name: 'jobs',
          rows: page.jobs,
          present: (job) => presentListed(coordinator.view(job), include),
          rest: (given): Omit<WireJobList, 'jobs'> => ({
            total: page.total,
            ...(page.totalCapped ? { total_capped: true } : {}),
            limit,
            offset,
            ...(given < page.jobs.length ? { next_offset: offset + given } : {}),
          }),
        });
      },
    },
    {
      method: 'GET',
      path: '/api/jobs/export',
      role: 'viewer',
      handle: ({ query }) => {
        const { filter, isArchivedToo } = parseExport(query);
        return { type: 'application/x-ndjson', chunks: exportLines(coordinator, filter, isArchivedToo) };
      },
    },
    {
      method: 'GET',
      path: '/api/jobs/:id',
      role: 'viewer',
      handle: async ({ params: { id = '' }, query, whenGone }) => {
        const waitMs = parseWait(query);
        const view = await (waitMs === 0
          ? coordinator.job(id)
          : coordinator.jobAtEnd(id, waitMs, whenGone()));
        return { json: presentJob(view) };
      },
    },
    ...(Object.keys(bulkActions) as BulkAction[]).map(
      (action): Route => ({
        method: 'POST',
        path: `/api/jobs/${action}`,
        role: 'client',
        body: jobBody,
        handle: async ({ body, query, doer }) => {
          parseNothing(query);
          return { json: await changeMany(coordinator, action, parseBulk(body), doer()) };
        },
      }),
    ),
    {
      method: 'GET',
      path: '/api/jobs/:id/history',
      role: 'viewer',
      handle: async ({ params: { id = '' }, query }) => {
        parseNothing(query);
        const { job } = await coordinator.job(id);
        return { json: presentHistory(job) };
      },
    },
    {
      method: 'POST',
      path: '/api/jobs/:id/cancel',
      role: 'client',
      handle: async ({ params: { id = '' }, query }) => {
        parseNothing(query);
        return { json: presentJob(await coordinator.cancel(id)) };
      },
    },
    {
      method: 'POST',
      path: '/api/jobs/:id/retry',
      role: 'client',
      handle: async ({ params: { id = '' }, query }) => {
        parseNothing(query);
        return { json: presentJob(await coordinator.retry(id)) };
      },
    },
  ];
}
