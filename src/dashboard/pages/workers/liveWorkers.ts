import { slotsMax } from '../../../domain/limits.ts';
import type { WorkerStatus } from '../../../domain/states.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';

/** Active ones first. */
const order: Record<WorkerStatus, number> = { active: 0, draining: 1, paused: 2, disconnected: 3 };

/**
 * All workers now: events report a worker's changes, and the live figures its slots in use and last heartbeat. Active
 * ones first, then by name.
 */
export function liveWorkers(
  workers: ReadonlyMap<string, WireWorker>,
  stats: Pick<WireStats, 'slots'> | null,
): WireWorker[] {
  const bySlots = new Map(stats?.slots.workers.map((slots) => [slots.id, slots]));
  return [...workers.values()]
    .map((worker): WireWorker => {
      const slots = bySlots.get(worker.id);
      if (slots === undefined || !worker.connected) return worker;
      const { taken, last_heartbeat_at: heard } = slots;
      // The figures may be a second older than the event.
      const isNewer = (heard ?? '') > (worker.last_heartbeat_at ?? '');
      return { ...worker, running: taken, last_heartbeat_at: isNewer ? heard : worker.last_heartbeat_at };
    })
    .sort((a, b) => order[a.status] - order[b.status] || a.name.localeCompare(b.name));
}

/** The number of workers by status, without empty ones. */
export function countByStatus(workers: readonly WireWorker[]): Map<WorkerStatus, number> {
  const counts = new Map<WorkerStatus, number>();
  for (const { status } of workers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

/** The models of a worker by provider; a provider without a list takes any model. */
export function offers({ providers, models }: WireWorker): { provider: string; models: string[] | null }[] {
  return providers.map((provider) => ({ provider, models: models[provider] ?? null }));
}

/** A typed concurrency; null unless it is a whole number from 0 to `slotsMax`. */
export function concurrencyOf(text: string): number | null {
  const value = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return value <= slotsMax ? value : null;
}
