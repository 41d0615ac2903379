import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Vitals } from '../domain/stats.ts';

/** Sampling interval of the event loop; a delay is the time beyond it. */
const resolutionMs = 10;
/** A figure covers one to two of these spans. */
const spanMs = 15_000;

/** Watches this process until closed. */
export interface VitalsWatch {
  read(): Vitals;
  close(): void;
}

/** Start to watch. Costs a timer every 10 ms, inside of Node and without a turn of the event loop. */
export function watchVitals(): VitalsWatch {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let before = 0;
  let beganAt = performance.now();
  const p99 = (): number => (delay.count === 0 ? 0 : Math.max(0, delay.percentile(99) / 1e6 - resolutionMs));
  return {
    read: () => {
      const current = p99();
      const worst = Math.max(before, current);
      if (performance.now() - beganAt > spanMs) {
        before = current;
        beganAt = performance.now();
        delay.reset();
      }
      return { eventLoopDelayP99Ms: worst, rssBytes: process.memoryUsage.rss() };
    },
    close: () => {
      delay.disable();
    },
  };
}
