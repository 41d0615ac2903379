import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { cpus, getPriority, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Bench, temporaryFolder } from '../support/scenario.ts';
import { percentile } from '../support/statistics.ts';
import { findProgram } from './server.ts';

const syncs = 500;
const syncBytes = 4_096;

/** What figures depend on: the machine, how busy it is, its disk, and every version. */
export function factsOf(bench: Bench, loadBefore: number): string[] {
  return [
    ...machineFacts(bench, loadBefore),
    ['bullmq', 'ioredis', 'pg-boss', 'graphile-worker', 'pg'].map(packageVersion).join(', '),
    `${programVersion('redis-server')}; ${programVersion('postgres')}`,
  ];
}

/** What figures depend on where only this project runs. */
export function machineFacts(bench: Bench, loadBefore: number): string[] {
  const [cpu] = cpus();
  const gibibytes = (totalmem() / 1024 ** 3).toFixed(0);
  const loads = `${loadBefore.toFixed(1)} before the run, ${(loadavg()[0] ?? 0).toFixed(1)} at its end`;
  return [
    `Machine: ${cpus().length} processors (${cpu?.model.trim() ?? 'unknown'}), ${gibibytes} GiB, Linux ${release()}; servers, apps, workers and the load share it`,
    `Load average: ${loads}${getPriority() === 0 ? '' : `; all of the bench ran at niceness ${getPriority()}`}`,
    `Disk: ${disk(bench)}`,
    `Node ${process.version}`,
  ];
}

/** What every durable answer waits for at least. */
function disk(bench: Bench): string {
  const file = openSync(join(temporaryFolder(bench), 'sync'), 'w');
  const times: number[] = [];
  for (let count = 0; count < syncs; count++) {
    const startedAt = performance.now();
    writeSync(file, Buffer.alloc(syncBytes, count));
    fdatasyncSync(file);
    times.push(performance.now() - startedAt);
  }
  closeSync(file);
  const at = (share: number) => percentile(times, share).toFixed(2);
  return `a write of 4 KiB with fdatasync takes ${at(0.5)} ms (p50), ${at(0.99)} ms (p99)`;
}

export function packageVersion(name: string): string {
  const file = join(import.meta.dirname, '../node_modules', name, 'package.json');
  return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
}

export function programVersion(name: string): string {
  const text = execFileSync(findProgram(name), ['--version'], { encoding: 'utf8' });
  return `${name} ${/\d+\.\d+(\.\d+)?/.exec(text)?.[0] ?? text.trim()}`;
}
