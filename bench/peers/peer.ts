import { randomUUID } from 'node:crypto';
import { promptOf, requestOf, served } from '../support/jobs.ts';
import { endChild, forkChild, startServer } from '../support/processes.ts';
import type { Bench } from '../support/scenario.ts';
import { folderBytes } from './folderBytes.ts';
import { cpuMsOf, memoryOf } from './processTree.ts';
import { type Kind, openQueue, type Queue } from './queues/queue.ts';
import type { Server } from './server.ts';
import { startPostgres, startRedis } from './servers.ts';
import type { PeerSetup } from './setup.ts';
import type { Contender, Station, StationWorker } from './station.ts';

/** Jobs added by one call. */
const chunk = 5_000;

export const peers: readonly Contender[] = [
  {
    name: 'BullMQ, fsync always',
    promise: 'on disk (fsync)',
    isTarget: true,
    open: (bench) => open(bench, 'bullmq', startRedis(bench, 'always')),
  },
  {
    name: 'BullMQ, fsync everysec',
    promise: 'in memory; on disk within a second',
    isTarget: false,
    open: (bench) => open(bench, 'bullmq', startRedis(bench, 'everysec')),
  },
  {
    name: 'pg-boss',
    promise: 'on disk (synchronous_commit)',
    isTarget: false,
    open: (bench) => open(bench, 'pgBoss', startPostgres(bench)),
  },
  {
    name: 'graphile-worker',
    promise: 'on disk (synchronous_commit)',
    isTarget: false,
    open: (bench) => open(bench, 'graphileWorker', startPostgres(bench)),
  },
];

async function open(bench: Bench, kind: Kind, starting: Promise<Server>): Promise<Station> {
  const server = await starting;
  const queue = await openQueue(kind, server.url, true);
  let closing: Promise<void> | null = null;
  const close = () => (closing ??= queue.close());
  bench.defer(close);
  const setup: PeerSetup = { kind, url: server.url, concurrency: 0 };
  const app = await startServer(bench, '../peers/appProcess.ts', JSON.stringify(setup));
  return {
    app,
    fill: (jobs, promptBytes) => fill(queue, jobs, promptBytes),
    startWorker: (concurrency) => startWorker(bench, { ...setup, concurrency }),
    pickUp: (onStart) => queue.work(pickUpConcurrency, { onStart, onDone: () => {} }),
    memory: () => memoryOf(server.pid()),
    disk: () => folderBytes(server.folder),
    restart: () => server.restart(),
    cpuMs: () => cpuMsOf(server.pid()) + cpuMsOf(app.pid),
    stop: async () => {
      await app.stop();
      await close();
      await server.stop();
    },
  };
}

const pickUpConcurrency = 200;

async function fill(queue: Queue, jobs: number, promptBytes: number): Promise<void> {
  for (let left = jobs; left > 0; left -= chunk) {
    const payloads = Array.from({ length: Math.min(chunk, left) }, (_, index) => ({
      id: randomUUID(),
      request: requestOf(served, promptOf(`ticket ${left - index}`, promptBytes)),
    }));
    await queue.addMany(payloads);
  }
  await queue.settle();
}

async function startWorker(bench: Bench, setup: PeerSetup): Promise<StationWorker> {
  const child = forkChild(bench, '../peers/workerProcess.ts', JSON.stringify(setup));
  const stop = () => endChild(child.process, () => child.process.disconnect());
  bench.defer(stop);
  await child.reply('ready');
  return {
    work: async (jobs) => {
      const working = child.reply('working');
      const worked = child.reply('worked');
      child.process.send({ type: 'work', jobs });
      await working;
      return { worked };
    },
    cpuMs: () => cpuMsOf(child.process.pid ?? 0),
    stop,
  };
}
