import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Kept, Order, Reply, Sample } from './messages.ts';

const nanosecondsPerMs = 1e6;
const microsecondsPerMs = 1e3;

function send(reply: Reply): void {
  process.send?.(reply);
}

/** Collect all garbage, which stops the process for some 0.1 s, and see what is left. Descriptors are counted on Linux alone. */
function collect(): Kept {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return { heapBytes: process.memoryUsage().heapUsed, descriptors: readdirSync('/proc/self/fd').length };
}

/**
 * Answer the bench's orders in a process under test, and end when the bench is gone.
 * @param url where the process listens.
 */
export function serveSamples(url: string): void {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let main = process.threadCpuUsage();
  let cpu = process.cpuUsage();
  const sample = (): Sample => {
    const inMain = process.threadCpuUsage(main);
    const inAll = process.cpuUsage(cpu);
    const at = (share: number) => delay.percentile(share) / nanosecondsPerMs;
    return {
      mainMs: (inMain.user + inMain.system) / microsecondsPerMs,
      cpuMs: (inAll.user + inAll.system) / microsecondsPerMs,
      delayMs: { p50: at(50), p99: at(99), p999: at(99.9), max: delay.max / nanosecondsPerMs },
      rssBytes: process.memoryUsage.rss(),
    };
  };
  process.on('message', (order: Order) => {
    if (order.type === 'measure') {
      delay.enable();
      delay.reset();
      main = process.threadCpuUsage();
      cpu = process.cpuUsage();
      send({ type: 'measuring' });
    } else if (order.type === 'report') {
      send({ type: 'report', ...sample() });
      delay.disable();
    } else if (order.type === 'collect') {
      send({ type: 'collected', ...collect() });
    }
  });
  // A profile is written when the process ends by itself, so a closed channel is the order to end.
  process.on('disconnect', () => process.exit(0));
  send({ type: 'ready', url });
}
