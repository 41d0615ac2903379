import { object as yupObject } from 'yup';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import {
  type JobStatus,
  jobStatuses,
  type ProviderStatus,
  providerStatuses,
  type WorkerStatus,
  workerStatuses,
} from '../../domain/states.ts';
import type { WireQueue } from '../../domain/wire/queue.ts';
import type { WireStats } from '../../domain/wire/stats.ts';
import { queueShape } from '../../http/routes/queue/shape.ts';
import { timeShape } from '../../http/shape/common.ts';
import { count, list, nullable, object, oneOf, text } from '../../http/shape/shape.ts';
import { validate } from '../../http/validate.ts';
import { presentProvider } from '../../present/provider.ts';
import { presentStats } from '../../present/stats.ts';
import { presentWorker } from '../../present/worker.ts';
import { own, untrusted } from '../frame.ts';
import { parseFilter } from './filter.ts';
import { defineTool } from './tool.ts';

/** Workers and providers that are listed; the totals count all of them. */
const rowsMax = 50;
/** Pending jobs that are asked why they wait. */
const askedMax = 200;

interface WaitCount {
  provider: string | null;
  reason: string;
  detail: string;
  jobs: number;
}

interface QueueStatus {
  queue: WireQueue;
  jobs: Record<JobStatus, number>;
  pending: WireStats['pending'];
  waits: WaitCount[];
  slots: { total: number; taken: number };
  worker_count: number;
  workers: {
    name: string;
    status: WorkerStatus;
    providers: string[];
    concurrency: number;
    running: number;
    faults: string[];
  }[];
  provider_count: number;
  providers: {
    name: string;
    status: ProviderStatus;
    until: string | null;
    running: number;
    max_concurrent: number | null;
    free_slots: number;
    models: string[];
  }[];
}

const nothing = yupObject({}).noUnknown();
const jobCounts = {
  pending: count(),
  running: count(),
  completed: count(),
  failed: count(),
  cancelled: count(),
} satisfies Record<(typeof jobStatuses)[number], unknown>;

export const queueStatus = defineTool<QueueStatus>({
  name: 'queue_status',
  title: 'Show queue, workers and limits',
  role: 'viewer',
  description:
    'How many jobs wait and run, why pending jobs wait, which workers are connected, and which providers are limited. Look here before you submit, to see which providers and models are served, and when jobs do not start.',
  input: { type: 'object', additionalProperties: false, properties: {} },
  output: object<QueueStatus>({
    queue: queueShape,
    jobs: object<Record<JobStatus, number>>(jobCounts),
    pending: list(
      object({ provider: text(), priority: text(), ready: count(), oldest_wait_ms: count() }),
      'Jobs that could run, the largest groups first.',
    ),
    waits: list(
      object<WaitCount>({ provider: nullable(text()), reason: text(), detail: text(), jobs: count() }),
      `Why jobs wait, of the newest ${askedMax} pending ones; the most frequent first.`,
    ),
    slots: object({ total: count('Of connected workers.'), taken: count() }),
    worker_count: count(),
    workers: list(
      object({
        name: text(),
        status: oneOf(workerStatuses),
        providers: list(text()),
        concurrency: count(),
        running: count(),
        faults: list(text(), 'Providers at which it is passed over now, and why.'),
      }),
      `At most ${rowsMax}.`,
    ),
    provider_count: count(),
    providers: list(
      object({
        name: text(),
        status: oneOf(providerStatuses),
        until: nullable(timeShape, 'Until then it gets no jobs.'),
        running: count(),
        max_concurrent: nullable(count()),
        free_slots: count(),
        models: list(text(), 'That workers offer; at most 50.'),
      }),
      `At most ${rowsMax}.`,
    ),
  }),

  call: async (args, { parts: { coordinator }, gone }) => {
    validate(nothing, args);
    const { jobs, pending, slots, queue } = presentStats(await coordinator.stats());
    const workers = (await coordinator.workers()).map(presentWorker);
    const providers = coordinator.providers().map(presentProvider);
    const structured: QueueStatus = {
      queue,
      jobs: jobs.by_status,
      pending: pending.slice(0, rowsMax),
      waits: await countWaits(coordinator, gone),
      slots: { total: slots.total, taken: slots.taken },
      worker_count: workers.length,
      workers: workers.slice(0, rowsMax).map(({ name, status, providers: served, ...worker }) => ({
        name,
        status,
        providers: served,
        concurrency: worker.concurrency,
        running: worker.running,
        faults: worker.refusals.map(({ provider, fault, error }) => `${provider} ${fault}: ${error.message}`),
      })),
      provider_count: providers.length,
      providers: providers.slice(0, rowsMax).map(({ name, status, until, running, ...provider }) => ({
        name,
        status,
        until,
        running,
        max_concurrent: provider.max_concurrent,
        free_slots: provider.free_slots,
        models: provider.models.slice(0, rowsMax),
      })),
    };
    const counts = jobStatuses.map((status) => `${structured.jobs[status]} ${status}`).join(', ');
    const summary = `The queue is ${queue.paused ? 'paused' : 'open'}. Jobs: ${counts}. Slots: ${slots.taken} of ${slots.total} taken.`;
    return {
      structured,
      text: [own(summary), untrusted('state of queue, workers and providers', JSON.stringify(structured))],
    };
  },
});

async function countWaits(coordinator: Coordinator, gone: AbortSignal): Promise<WaitCount[]> {
  const pending = parseFilter({ status: 'pending' });
  const { jobs } = await coordinator.jobs({ ...pending, limit: askedMax, offset: 0 }, gone);
  const counts = new Map<string, WaitCount>();
  for (const job of jobs) {
    const { waiting } = coordinator.view(job);
    if (waiting === null) continue;
    const { reason, detail } = waiting;
    const { provider } = job.request;
    const name = JSON.stringify([provider, reason]);
    const known = counts.get(name);
    if (known === undefined) counts.set(name, { provider, reason, detail, jobs: 1 });
    else known.jobs += 1;
  }
  return [...counts.values()].sort((a, b) => b.jobs - a.jobs).slice(0, rowsMax);
}
