import type { WorkerLife } from '../../domain/worker.ts';
import type { Health } from './health.ts';

/** A connected worker, as the routing sees it. */
export interface FleetMember {
  readonly life: WorkerLife;
  /** Whether it may be given new work now, free slots apart. */
  readonly isTaking: boolean;
  /** Whether it is neither paused nor draining. It may be silent: jobs that only it can run wait for its next heartbeat. */
  readonly isActive: boolean;
  readonly health: Pick<Health, 'standing' | 'until' | 'heldFor'>;
}

/** Whether it takes jobs, now or as soon as it is heard again. */
export function isOpen({ isActive, life }: FleetMember): boolean {
  return isActive && life.concurrency > 0;
}

/** Whether it may be given such a job, be it as a trial. */
export function isAble({ health }: FleetMember, provider: string, model: string | null): boolean {
  const standing = health.standing(provider, model);
  return standing === 'well' || standing === 'due';
}

/**
 * Of workers that fit, those that may be given a job: one that fails at once is free at once, the least busy of all, and
 * would fail the whole queue. While none is able, jobs wait for those that cannot reach their provider now; when there
 * are none of these either, jobs go to the others, the one whose trial is due first ahead, and fail in plain words.
 */
export function passOver(
  fitting: readonly FleetMember[],
  provider: string,
  model: string | null,
): readonly FleetMember[] {
  const able = fitting.filter((member) => isAble(member, provider, model));
  if (able.length === fitting.length || able.some(isOpen)) return able;
  const isWaitedFor = (member: FleetMember) =>
    isOpen(member) && member.health.standing(provider, model) === 'waits';
  if (fitting.some(isWaitedFor)) return able;
  const triedAt = ({ health }: FleetMember) => health.until(provider, model) ?? Number.POSITIVE_INFINITY;
  return fitting.toSorted((a, b) => (triedAt(a) < triedAt(b) ? -1 : triedAt(a) > triedAt(b) ? 1 : 0));
}

/** Providers that connected workers serve, each once. */
export function servedBy(fleet: readonly FleetMember[]): string[] {
  return [...new Set(fleet.flatMap(({ life }) => life.providers))];
}
