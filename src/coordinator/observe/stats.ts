import type { Clock } from '../../domain/clock.ts';
import type { QueueState } from '../../domain/queue.ts';
import type { PendingGroup, Stats, Vitals } from '../../domain/stats.ts';
import type { BacklogGroup, Store } from '../../store/store.ts';
import type { Supervisor } from '../core/index.ts';
import { type Leases, type RefusedWorkers, servedBy, type Workers } from '../fleet/index.ts';
import type { Providers } from '../limits/index.ts';
import type { RunBook } from '../runs/index.ts';
import type { Activity } from './activity.ts';

/** Clients name providers: beyond this many groups and providers the smallest are added up. */
const groupsMax = 100;
const others = 'other';
/** Refused workers that are shown, those that tried last. */
const refusedMax = 10;

export interface StatsParts {
  store: Store;
  clock: Clock;
  leases: Leases;
  workers: Workers;
  providers: Providers;
  activity: Activity;
  refusedWorkers: RefusedWorkers;
  queue: { readonly state: QueueState };
  runs: Pick<RunBook, 'counts' | 'batchCounts'>;
  supervisor: Pick<Supervisor, 'status' | 'states'>;
  /** Monotonic ms of the start. */
  startedAt: number;
  vitals: (() => Vitals) | undefined;
}

/** Everything that there is to count, at this moment. Nothing here grows with the number of jobs. */
export async function takeStats(parts: StatsParts): Promise<Stats> {
  const { store, clock, leases, workers, providers, activity } = parts;
  const { total, byStatus, byState } = await store.counts();
  const backlog = await store.backlog();
  const health = store.health();
  const connected = workers.fleet().map(({ life }) => life);
  const slots = connected.map(({ id, name, concurrency, lastHeartbeatAt }) => ({
    id,
    name,
    total: concurrency,
    taken: Math.min(concurrency, leases.held(id)),
    lastHeartbeatAt,
  }));
  const served = servedBy(workers.fleet());
  return {
    at: clock.now(),
    jobs: { total, byStatus, byState },
    runs: parts.runs.counts(),
    batches: parts.runs.batchCounts(),
    pending: pendingGroups(backlog, clock.now()),
    slots: {
      total: slots.reduce((sum, worker) => sum + worker.total, 0),
      taken: slots.reduce((sum, worker) => sum + worker.taken, 0),
      workers: slots,
      providers: served
        .sort()
        .slice(0, groupsMax)
        .map((provider) => {
          const { slots: all, freeSlots } = workers.fleetOf(provider);
          const taken = leases.ofProvider(provider);
          const ceiling = providers.maxConcurrent(provider) ?? Number.POSITIVE_INFINITY;
          return { provider, total: all, taken, free: Math.max(0, Math.min(freeSlots, ceiling - taken)) };
        }),
    },
    refusedWorkers: parts.refusedWorkers.list().slice(0, refusedMax),
    ...activity.read(),
    queue: parts.queue.state,
    coordinator: {
      status: parts.supervisor.status,
      uptimeMs: clock.monotonic() - parts.startedAt,
      journalBytes: health.replayBytes,
      store: health.status,
      vitals: parts.vitals?.() ?? null,
    },
  };
}

function pendingGroups(backlog: readonly BacklogGroup[], now: number): PendingGroup[] {
  const groups = backlog
    .map(({ provider, priority, ready, oldestEnqueuedAt }) => ({
      provider,
      priority,
      ready,
      oldestWaitMs: Math.max(0, now - oldestEnqueuedAt),
    }))
    .sort((a, b) => b.ready - a.ready);
  const rest = new Map<string, PendingGroup>();
  for (const { priority, ready, oldestWaitMs } of groups.splice(groupsMax)) {
    const same = rest.get(priority) ?? { provider: others, priority, ready: 0, oldestWaitMs: 0 };
    rest.set(priority, {
      ...same,
      ready: same.ready + ready,
      oldestWaitMs: Math.max(same.oldestWaitMs, oldestWaitMs),
    });
  }
  return [...groups, ...rest.values()];
}
