import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { timeToHealth } from '../restart.ts';
import { bodyOf, promptOf, served } from '../support/jobs.ts';
import { completedJobs, connect, post } from '../support/load.ts';
import { now, type Worked } from '../support/messages.ts';
import {
  endChild,
  type ServerProcess,
  seedFolder,
  spawnSvc,
  startCoordinator,
} from '../support/processes.ts';
import { type Bench, temporaryFolder } from '../support/scenario.ts';
import { WorkerClient } from '../support/workerClient.ts';
import { folderBytes } from './folderBytes.ts';
import { cpuMsOf, memoryOf } from './processTree.ts';
import type { Contender, Station, StationWorker } from './station.ts';

/** Jobs in one batch; the largest that the default configuration takes. */
const chunk = 10_000;
const pollMs = 10;
const workMsMax = 300_000;
const slots = 200;
/** The default of a million leaves no room for those that come beside a million. */
const pendingMax = 2_000_000;

/** The coordinator and `svc worker`, as a user starts them. */
export const ours: Contender = {
  name: 'SVC',
  promise: 'on disk (fdatasync)',
  isTarget: false,
  open: async (bench) => {
    const configFile = join(temporaryFolder(bench), 'svc.config.json');
    writeFileSync(configFile, JSON.stringify({ jobs: { max_pending: pendingMax } }));
    return open(bench, await seedFolder(bench, {}), configFile);
  },
};

async function open(bench: Bench, dataDir: string, configFile: string): Promise<Station> {
  let app: ServerProcess = await startCoordinator(bench, dataDir, configFile);
  return {
    get app() {
      return app;
    },
    fill: (jobs, promptBytes) => fill(app.url, jobs, promptBytes),
    startWorker: async (concurrency) => startWorker(bench, app.url, concurrency),
    pickUp: async (onStart) => {
      const onAssign = ({ input }: { input: string | null }) => onStart(input);
      const worker = await WorkerClient.connect(bench, app.url, slots, { onAssign });
      worker.allow(Number.POSITIVE_INFINITY);
      return async () => worker.close();
    },
    memory: () => memoryOf(app.pid),
    disk: () => folderBytes(dataDir),
    restart: async () => {
      await app.kill();
      const restartMs = await timeToHealth(bench, dataDir);
      app = await startCoordinator(bench, dataDir, configFile);
      return restartMs;
    },
    cpuMs: () => cpuMsOf(app.pid),
    stop: () => app.stop(),
  };
}

async function fill(url: string, jobs: number, promptBytes: number): Promise<void> {
  const client = connect(url);
  for (let left = jobs; left > 0; left -= chunk) {
    const bodies = Array.from({ length: Math.min(chunk, left) }, (_, index) =>
      bodyOf(served, promptOf(`ticket ${left - index}`, promptBytes)),
    );
    await post(client, '/api/jobs/batch', `{"jobs":[${bodies.join()}]}`, 201);
  }
  client.destroy();
}

/** `svc worker` has no channel to the bench, so what is done is asked of the coordinator, which counts it. */
function startWorker(bench: Bench, url: string, concurrency: number): StationWorker {
  const client = connect(url);
  let worker: ReturnType<typeof spawnSvc> | null = null;
  const worked = async (before: number, jobs: number): Promise<Worked> => {
    const endsAt = now() + workMsMax;
    let first: { at: number; count: number } | null = null;
    for (;;) {
      const count = (await completedJobs(client)) - before;
      const at = now();
      if (first === null && count > 0) first = { at, count };
      if (first !== null && count >= jobs)
        return { jobs: count - first.count, firstAt: first.at, lastAt: at };
      worker?.assertRuns();
      if (at > endsAt) throw new Error(`only ${count} of ${jobs} jobs completed in ${workMsMax} ms`);
      await sleep(pollMs);
    }
  };
  return {
    work: async (jobs) => {
      const before = await completedJobs(client);
      const flags = ['--provider', served, '--concurrency', String(concurrency), '--coordinator', url];
      worker ??= spawnSvc(bench, ['worker', ...flags], 'worker');
      return { worked: worked(before, jobs) };
    },
    cpuMs: () => cpuMsOf(worker?.process.pid ?? 0),
    stop: async () => {
      client.destroy();
      const child = worker?.process;
      if (child !== undefined) await endChild(child, () => child.kill('SIGTERM'));
    },
  };
}
