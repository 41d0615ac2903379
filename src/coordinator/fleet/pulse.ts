import type { Config } from '../../config/config.ts';

/** Heartbeats that fit into the time after which a silent job is taken back: two may be lost. */
const beatsToReap = 3;

/** How often workers are asked to send a heartbeat, ms: as configured, or more often where that would be too late to be of use. */
export function heartbeatMs({ heartbeatIntervalSeconds, reapStaleAfterSeconds }: Config['jobs']): number {
  const most = reapStaleAfterSeconds === 0 ? Number.POSITIVE_INFINITY : reapStaleAfterSeconds / beatsToReap;
  return Math.round(1000 * Math.min(heartbeatIntervalSeconds, most));
}

/**
 * Silence after which a job is taken back, ms; Infinity for never.
 * @param askedMs the interval that its worker was asked for: a shorter time that came with a reload waits for its next hello.
 */
export function staleMs({ reapStaleAfterSeconds }: Config['jobs'], askedMs: number): number {
  if (reapStaleAfterSeconds === 0) return Number.POSITIVE_INFINITY;
  return Math.max(reapStaleAfterSeconds * 1000, beatsToReap * askedMs);
}
