import { randomFillSync } from 'node:crypto';
import { type Clock, type Random, timerMsMax } from '../domain/clock.ts';

const after: Clock['after'] = (delayMs, task) => {
  if (delayMs <= timerMsMax) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  }
  let cancel = after(timerMsMax, () => {
    cancel = after(delayMs - timerMsMax, task);
  });
  return () => cancel();
};

/** The clock of this machine. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now(), after };

/** Random bytes are drawn in blocks: 8 KiB cost as much as 16 bytes. */
const poolSize = 8192;

/** Randomness fit for secrets, from the operating system. */
export function systemRandom(): Random {
  const pool = Buffer.allocUnsafe(poolSize);
  let used = poolSize;
  return {
    next: () => Math.random(),
    bytes: (size) => {
      if (used + size > poolSize) {
        randomFillSync(pool);
        used = 0;
      }
      const bytes = new Uint8Array(pool.subarray(used, used + size));
      used += size;
      return bytes;
    },
  };
}
