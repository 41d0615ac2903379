/*
 * Measures the embedded store: `node --expose-gc test/store/measure.ts [jobs]`, 100,000 jobs unless told. Not a test:
 * nothing is asserted, the numbers are for docs/ and for comments.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { laneKey } from '../../src/domain/job.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import { creation, headStart, queryOf, targetOf, transition } from './jobs.ts';

const jobs = Number(process.argv[2] ?? 100_000);
const folder = await mkdtemp(join(tmpdir(), 'svc-measure-'));
const priorities = ['critical', 'high', 'normal', 'low', 'background'];
const providers = ['anthropic', 'openai', 'ollama'];

function say(what: string, value: number, unit: string): void {
  process.stdout.write(`${what.padEnd(64)} ${value.toFixed(value < 10 ? 2 : 0).padStart(10)} ${unit}\n`);
}

function newJob(n: number) {
  const request = {
    prompt: `${n} `.padEnd(1024, 'the quick brown fox '),
    priority: priorities[n % 5] as string,
    provider: providers[n % 3] as string,
  };
  return creation(`01890a5d-ac96-774b-bcce-${String(n).padStart(12, '0')}`, {
    request,
    at: 1_700_000_000_000 + n,
  });
}

async function opened(name: string, checkpointBytes: number): Promise<JsonStore> {
  const store = createJsonStore({ path: join(folder, name), clock: systemClock, headStart, checkpointBytes });
  await store.open();
  return store;
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  say(what, performance.now() - start, 'ms');
  return result;
}

/** `committers` callers at a time, each with one new job a commit. */
async function fill(store: JsonStore, from: number, to: number, committers: number): Promise<number> {
  let next = from;
  const start = performance.now();
  const commitAll = async () => {
    while (next < to) {
      next += 1;
      await store.commit([newJob(next)]);
    }
  };
  await Promise.all(Array.from({ length: committers }, commitAll));
  return (to - from) / ((performance.now() - start) / 1000);
}

async function claimCost(store: JsonStore): Promise<number> {
  const lanes = providers.map((provider) => laneKey(targetOf(provider)));
  const claims = 20;
  let claimed = 0;
  const start = performance.now();
  for (let i = 0; i < claims; i += 1) {
    const demand = { lanes, limit: 50 };
    claimed += (await store.claim(demand, (job) => transition(job, 'running.active', { lease: 1 }))).length;
  }
  return ((performance.now() - start) * 1000) / claimed;
}

function memory(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}

const before = memory();
const never = Number.MAX_SAFE_INTEGER;
const small = await opened('small', never);
await fill(small, 0, 1_000, 64);
say('claim, 1,000 pending, 50 a commit', await claimCost(small), 'µs/job');
await small.close();

const pure = await opened('data', never);
say('commits, 1 committer', await fill(pure, 0, Math.min(5_000, jobs / 10), 1), 'records/s');
say('commits, 64 committers', await fill(pure, Math.min(5_000, jobs / 10), jobs, 64), 'records/s');
say(`memory a job of 1 KB, ${jobs} pending`, (memory() - before) / jobs, 'bytes');
say(`claim, ${jobs} pending, 50 a commit`, await claimCost(pure), 'µs/job');
const page = performance.now();
for (let i = 0; i < 1_000; i += 1) {
  await pure.jobs(queryOf({ statuses: ['pending'], provider: 'openai', offset: i * 10 }));
}
say('page of 50 by status and provider', performance.now() - page, 'µs');
await timed('text search through all jobs', () => pure.jobs(queryOf({ text: 'not there' })));
await pure.close();

const replayed = createJsonStore({ path: join(folder, 'data'), clock: systemClock, headStart });
await timed(`open, ${jobs} jobs, journal only`, () => replayed.open());

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
await timed('checkpoint of all of it', () => replayed.checkpoint());
delay.disable();
say('event loop delay while idle and that checkpoint, p99.9', delay.percentile(99.9) / 1e6, 'ms');
say('event loop delay while idle and that checkpoint, max', delay.max / 1e6, 'ms');
delay.reset();
delay.enable();
let writing = true;
const checkpoints = (async () => {
  for (let i = 0; i < 3; i += 1) await replayed.checkpoint();
  writing = false;
})();
let next = jobs;
let written = 0;
const start = performance.now();
const commitAll = async () => {
  while (writing) {
    next += 1;
    written += 1;
    await replayed.commit([newJob(next)]);
    await replayed.claim({ lanes: [laneKey(targetOf('openai'))], limit: 1 }, (job) =>
      transition(job, 'running.active'),
    );
  }
};
await Promise.all([checkpoints, ...Array.from({ length: 64 }, commitAll)]);
delay.disable();
say(
  'commits meanwhile, 64 committers, dispatch and claim',
  (2 * written) / ((performance.now() - start) / 1000),
  'records/s',
);
say('event loop delay under load and 3 checkpoints, p99.9', delay.percentile(99.9) / 1e6, 'ms');
say('event loop delay under load and 3 checkpoints, max', delay.max / 1e6, 'ms');
await replayed.checkpoint();
await replayed.close();

const last = createJsonStore({ path: join(folder, 'data'), clock: systemClock, headStart });
await timed(`open, ${next} jobs, from the checkpoint`, () => last.open());
await last.close();
await rm(folder, { recursive: true });
