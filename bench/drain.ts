import { statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Low } from 'lowdb';
import { JSONFile } from 'lowdb/node';
import type { JobRecord } from '../src/domain/job.ts';
import type { HttpClient } from './support/httpClient.ts';
import { pendingJob, promptOf, requestOf, served } from './support/jobs.ts';
import { completedJobs, connect } from './support/load.ts';
import { type Program, seedFolder, spawnSvc, startCoordinator } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario, temporaryFolder } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const slots = 200;
const ratioMin = 10;
const promptBytes = 300;
const pollMs = 20;
/** The first job must have completed, and all of them, after this time, ms. */
const firstMsMax = 30_000;
const drainMsMax = 300_000;
/** A job that is stored already changes twice: assigned, completed. */
const writesPerJob = 2;
const lowdbWrites = 20;

/** A full queue and one built-in worker, against rewriting a lowdb file with each change. */
export const drain: Scenario = {
  name: 'drain',
  about: `one \`svc worker\` of ${slots} slots empties a queue of 50,000, against a lowdb file written per change`,
  async run(bench) {
    const jobs = bench.quick ? 5_000 : 50_000;
    const dataDir = await seedFolder(bench, { pending: { [served]: jobs }, promptBytes });
    const coordinator = await startCoordinator(bench, dataDir);
    const client = connect(coordinator.url);
    bench.defer(() => client.destroy());
    await coordinator.measure();
    const flags = ['--provider', served, '--concurrency', String(slots), '--coordinator', coordinator.url];
    const worker = spawnSvc(bench, ['worker', ...flags], 'worker');
    const perSecond = await drained(client, worker, jobs);
    const spent = await coordinator.report();
    worker.process.kill('SIGTERM');
    await coordinator.stop();
    const writeMs = await lowdbWriteMs(bench, jobs);
    const peer = 1000 / (writesPerJob * writeMs);
    return [
      {
        name: `draining ${jobs} jobs, one worker`,
        value: perSecond,
        unit: 'jobs/s',
        ratio: perSecond / peer,
        against: 'lowdb file',
        target: { of: 'ratio', is: 'at least', bound: ratioMin },
      },
      figureOf('processor time of the main thread per job', (spent.mainMs * 1000) / jobs, 'µs'),
      figureOf('memory of the coordinator after it', spent.rssBytes / 1024 ** 2, 'MiB'),
      figureOf(`one lowdb write of ${jobs} jobs`, writeMs, 'ms'),
    ] satisfies Figure[];
  },
};

/** Jobs a second from the first completed one that is seen to the last. */
async function drained(client: HttpClient, worker: Program, jobs: number): Promise<number> {
  const startedAt = performance.now();
  let first: { at: number; completed: number } | null = null;
  for (;;) {
    const completed = await completedJobs(client);
    const at = performance.now();
    if (first === null && completed > 0) first = { at, completed };
    if (first !== null && completed >= jobs) return ((jobs - first.completed) * 1000) / (at - first.at);
    worker.assertRuns();
    const elapsedMs = at - startedAt;
    if (elapsedMs > (first === null ? firstMsMax : drainMsMax)) {
      throw new Error(`only ${completed} of ${jobs} jobs completed in ${elapsedMs.toFixed(0)} ms`);
    }
    await sleep(pollMs);
  }
}

/** The median time of a write after one change, with `jobs` of the same records in the file. */
async function lowdbWriteMs(bench: Bench, jobs: number): Promise<number> {
  bench.say(`writing ${jobs} jobs with lowdb ${lowdbWrites} times`);
  const file = join(temporaryFolder(bench), 'jobs.json');
  const low = new Low<Record<string, JobRecord>>(new JSONFile(file), {});
  for (let index = 1; index <= jobs; index++) {
    const id = crypto.randomUUID();
    low.data[id] = pendingJob(id, index, requestOf(served, promptOf(`ticket ${index}`, promptBytes)));
  }
  const times: number[] = [];
  for (const job of Object.values(low.data).slice(0, lowdbWrites)) {
    job.version += 1;
    const startedAt = performance.now();
    await low.write();
    times.push(performance.now() - startedAt);
  }
  bench.say(`${(statSync(file).size / 1024 ** 2).toFixed(0)} MiB a file`);
  return median(times);
}
