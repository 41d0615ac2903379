import { number, object } from 'yup';
import { slotsMax } from '../../../domain/limits.ts';
import type { WireWorker, WireWorkerList } from '../../../domain/wire/worker.ts';
import { presentWorker } from '../../../present/worker.ts';
import { smallBody } from '../../body.ts';
import { pageAnswer } from '../../longJson.ts';
import { pageParameters } from '../../query.ts';
import { defineRoute, type Route } from '../../route.ts';
import { reference } from '../../shape/shape.ts';
import { workerListShape, workerShape } from './shape.ts';

const params = {
  id: reference('parameters', 'WorkerId', {
    name: 'id',
    in: 'path',
    required: true,
    description: "The worker's id; it stays with the worker's name.",
    schema: { type: 'string' },
  }),
};

const box: WireWorker = {
  id: '019aa59f-1b2c-7d3e-8f40-6a5b4c3d2e1f',
  name: 'gpu-box-1',
  key: { key_id: 'k4f9a2c1d0e7', name: 'gpu' },
  kind: 'local',
  providers: ['ollama'],
  models: { ollama: ['llama3.2'] },
  tags: ['gpu'],
  concurrency: 2,
  connected: true,
  paused: false,
  status: 'active',
  running_jobs: ['019aa5a2-7d80-7c3e-9b1f-3f2f6d0e5a11'],
  running: 1,
  version: '0.1.0',
  host: 'gpu-box-1',
  connected_at: '2026-11-21T08:00:00.000Z',
  last_heartbeat_at: '2026-11-21T09:00:10.000Z',
  completed: 41,
  failed: 1,
  refusals: [],
};

const workerExample = reference('examples', 'Worker', {
  summary: 'A GPU box that runs two jobs at a time',
  value: box,
});

const theWorker = {
  description: 'The worker.',
  shape: workerShape,
  examples: { box: workerExample },
};

const listWorkers = defineRoute({
  method: 'GET',
  path: '/api/workers',
  role: 'viewer',
  name: 'listWorkers',
  tag: 'Workers',
  summary: 'List all registered workers',
  description:
    'Those that are not connected stay in the list until they are deleted. A page has 8 MiB at most, which only workers with very many models exceed; `next_offset` says where to go on then.',

  query: { offset: pageParameters.offset },
  answers: {
    200: { description: 'The workers, in the order in which they were first seen.', shape: workerListShape },
  },

  handle: async ({ query: { offset } }, { coordinator }) => {
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
});

const getWorker = defineRoute({
  method: 'GET',
  path: '/api/workers/:id',
  role: 'viewer',
  name: 'getWorker',
  tag: 'Workers',
  summary: 'Read a worker',

  params,
  answers: { 200: theWorker },
  problems: ['WorkerNotFound'],

  handle: async ({ params: { id } }, { coordinator }) => ({
    json: presentWorker(await coordinator.worker(id)),
  }),
});

const pauseWorker = defineRoute({
  method: 'POST',
  path: '/api/workers/:id/pause',
  role: 'operator',
  name: 'pauseWorker',
  tag: 'Workers',
  summary: 'Stop giving a worker new jobs',
  description:
    'Running jobs continue. The pause survives reconnects and restarts. Pausing a paused worker changes nothing and returns 200.',

  params,
  answers: { 200: theWorker },
  problems: ['WorkerNotFound', 'StoreUnavailable'],

  handle: async ({ params: { id }, doer }, { coordinator }) => ({
    json: presentWorker(await coordinator.setWorkerPaused(id, true, doer())),
  }),
});

const resumeWorker = defineRoute({
  method: 'POST',
  path: '/api/workers/:id/resume',
  role: 'operator',
  name: 'resumeWorker',
  tag: 'Workers',
  summary: 'Give a paused worker new jobs again',
  description: 'Resuming an active worker changes nothing and returns 200.',

  params,
  answers: { 200: theWorker },
  problems: ['WorkerNotFound', 'StoreUnavailable'],

  handle: async ({ params: { id }, doer }, { coordinator }) => ({
    json: presentWorker(await coordinator.setWorkerPaused(id, false, doer())),
  }),
});

const sizeSchema = object({ concurrency: number().integer().min(0).max(slotsMax).required() }).noUnknown();

const resizeWorker = defineRoute({
  method: 'PATCH',
  path: '/api/workers/:id',
  role: 'operator',
  name: 'resizeWorker',
  tag: 'Workers',
  summary: 'Set how many jobs a worker runs at a time',
  description:
    "0 takes no work. The setting survives a reconnect, until the worker's own setting changes. Running jobs continue.",

  params,
  body: smallBody(sizeSchema, { examples: { one: { value: { concurrency: 1 } } } }),
  answers: { 200: theWorker },
  problems: ['WorkerNotFound', 'StoreUnavailable'],

  handle: async ({ params: { id }, body: { concurrency }, doer }, { coordinator }) => ({
    json: presentWorker(await coordinator.setWorkerConcurrency(id, concurrency, doer())),
  }),
});

const forgetWorker = defineRoute({
  method: 'DELETE',
  path: '/api/workers/:id',
  role: 'operator',
  name: 'forgetWorker',
  tag: 'Workers',
  summary: 'Forget a worker that is not connected',
  description:
    'Its name is free again, and a pause or a concurrency that was set for it is gone. Refused while it is connected, and while jobs wait for its return.',

  params,
  answers: { 200: theWorker },
  problems: ['WorkerNotFound', 'WorkerConnected', 'StoreUnavailable'],

  handle: async ({ params: { id }, doer }, { coordinator }) => {
    const worker = await coordinator.worker(id);
    await coordinator.forgetWorker(id, doer());
    return { json: presentWorker(worker) };
  },
});

export const workerRoutes: readonly Route[] = [
  listWorkers,
  getWorker,
  pauseWorker,
  resumeWorker,
  resizeWorker,
  forgetWorker,
];
