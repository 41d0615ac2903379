import type { Random } from '../domain/clock.ts';

/**
 * Why there is no connection.
 * - `lost`       the network, or the coordinator is down or restarting.
 * - `busy`       the coordinator asked to wait.
 * - `protocol`   one side breaks the protocol; an early retry would only repeat it.
 * - `nameTaken`  a live worker has this name. After a crash that is this worker's own old connection, gone in seconds.
 * - `refused`    the key is refused; a rotated one may follow.
 * - `notAllowed` the key does not allow this worker's settings; somebody must change one of them.
 */
export type Setback = 'lost' | 'busy' | 'protocol' | 'nameTaken' | 'refused' | 'notAllowed';

const firstCeilingMs = 500;
const ceilingMaxMs = 30_000;

/** Shortest wait by setback, milliseconds. 0 spreads a fleet evenly (full jitter). */
const floorMs: Record<Setback, number> = {
  lost: 0,
  busy: 1000,
  protocol: 5000,
  nameTaken: 2000,
  refused: 15_000,
  notAllowed: 15_000,
};

/**
 * How long to wait before the next connection attempt: a random time up to a ceiling that doubles from 0.5 s to 30 s.
 * Full jitter spreads a fleet that lost its coordinator at one moment over the whole time.
 * @param attempt 0 for the first after a stable connection.
 * @returns milliseconds.
 */
export function reconnectDelay(setback: Setback, attempt: number, random: Random): number {
  const floor = floorMs[setback];
  const ceiling = Math.max(2 * floor, Math.min(ceilingMaxMs, firstCeilingMs * 2 ** Math.min(attempt, 10)));
  return Math.round(floor + random.next() * (ceiling - floor));
}
