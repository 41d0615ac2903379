import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './support/freePort.ts';
import { served } from './support/jobs.ts';
import { environment, seedFolder, spawnSvc } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const restartMsMax = 3_000;
const pollMs = 2;
const healthMsMax = 120_000;

/** From the start of the process to the first 200 of /health, after a kill -9. */
export const restart: Scenario = {
  name: 'restart',
  about: 'from spawn to /health 200 with 100,000 jobs stored, some of them only in the journal',
  async run(bench) {
    const jobs = bench.quick ? 10_000 : 100_000;
    const times = bench.quick ? 2 : 5;
    const afterCheckpoint = jobs / 10;
    const pending = await seedFolder(bench, { pending: { [served]: jobs }, afterCheckpoint });
    const half = { completed: jobs / 2, pending: { [served]: jobs / 2 }, afterCheckpoint };
    const mixed = await seedFolder(bench, half);
    const empty = await seedFolder(bench, {});
    const start = (dataDir: string) => medianOf(times, () => timeToHealth(bench, dataDir));
    const nodeMs = await medianOf(times, nodeStart);
    const emptyMs = await start(empty);
    const figure = (name: string, value: number): Figure => ({
      name,
      value,
      unit: 'ms',
      ratio: value / emptyMs,
      against: 'empty store',
      target: { of: 'value', is: 'at most', bound: restartMsMax },
    });
    return [
      figure(`restart, ${jobs} pending`, await start(pending)),
      figure(`restart, ${jobs / 2} pending and ${jobs / 2} completed`, await start(mixed)),
      figureOf('restart, empty store', emptyMs, 'ms'),
      figureOf('start of node alone', nodeMs, 'ms'),
    ];
  },
};

/** Start the coordinator on a data folder, and kill it when it has answered. @returns ms from spawn to the first 200 of /health. */
export async function timeToHealth(bench: Bench, dataDir: string): Promise<number> {
  const port = await freePort();
  const startedAt = performance.now();
  const coordinator = spawnSvc(
    bench,
    ['coordinator', '--port', String(port), '--data-dir', dataDir],
    'restart',
  );
  while (!(await isHealthy(port))) {
    coordinator.assertRuns();
    if (performance.now() - startedAt > healthMsMax) throw new Error('the coordinator did not get healthy');
    await sleep(pollMs);
  }
  const elapsedMs = performance.now() - startedAt;
  // Not in good order: what has to be read again the next time is the same.
  coordinator.process.kill('SIGKILL');
  await once(coordinator.process, 'exit');
  return elapsedMs;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const { status } = await fetch(`http://127.0.0.1:${port}/health`);
    return status === 200;
  } catch {
    return false;
  }
}

async function nodeStart(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { env: environment(), stdio: 'ignore' }), 'exit');
  return performance.now() - startedAt;
}

async function medianOf(times: number, measure: () => Promise<number>): Promise<number> {
  const measured: number[] = [];
  for (let count = 0; count < times; count++) measured.push(await measure());
  return median(measured);
}
