import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { WireWorkerList } from '../../../domain/wire/worker.ts';
import { presentWorker } from '../../../present/worker.ts';
import { pageAnswer } from '../../longJson.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import { parseOffset, parsePatch } from './schema.ts';

/** /api/workers: list, read, pause, resume, resize, forget. */
export function workerRoutes(coordinator: Coordinator): Route[] {
  const setPaused = (path: string, paused: boolean): Route => ({
    method: 'POST',
    path,
    role: 'operator',
    handle: async ({ params: { id = '' }, query, doer }) => {
      parseNothing(query);
      return { json: presentWorker(await coordinator.setWorkerPaused(id, paused, doer())) };
    },
  });
  return [
    {
      method: 'GET',
      path: '/api/workers',
      role: 'viewer',
      handle: async ({ query }) => {
        const offset = parseOffset(query);
        const workers = await coordinator.workers();
        const total = workers.length;
        return pageAnswer({
          name: 'workers',
          rows: workers.slice(offset),
          present: presentWorker,
          rest: (given): Omit<WireWorkerList, 'workers'> => ({
            total,
            ...(offset + given < total ? { next_offset: offset + given } : {}),
          }),
        });
      },
    },
    {
      method: 'GET',
      path: '/api/workers/:id',
      role: 'viewer',
      handle: async ({ params: { id = '' }, query }) => {
        parseNothing(query);
        return { json: presentWorker(await coordinator.worker(id)) };
      },
    },
    setPaused('/api/workers/:id/pause', true),
    setPaused('/api/workers/:id/resume', false),
    {
      method: 'PATCH',
      path: '/api/workers/:id',
      role: 'operator',
      body: 'required',
      handle: async ({ params: { id = '' }, query, body, doer }) => {
        parseNothing(query);
        const { concurrency } = parsePatch(body);
        return { json: presentWorker(await coordinator.setWorkerConcurrency(id, concurrency, doer())) };
      },
    },
    {
      method: 'DELETE',
      path: '/api/workers/:id',
      role: 'operator',
      handle: async ({ params: { id = '' }, query, doer }) => {
        parseNothing(query);
        const worker = await coordinator.worker(id);
        await coordinator.forgetWorker(id, doer());
        return { json: presentWorker(worker) };
      },
    },
  ];
}
