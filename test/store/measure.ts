/*
 * Measures the embedded store: `node --expose-gc test/store/measure.ts [jobs]`, 100,000 jobs unless told. Not a test:
 * nothing is asserted, the numbers are for docs/ and for comments.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { laneKey } from '../../src/domain/job.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { createJsonStore, type JsonStore } from '../../src/store/json/jsonStore.ts';
import { creation, headStart, queryOf, targetOf, transition } from './jobs.ts';

const jobs = Number(process.argv[2] ?? 100_000);
const loaded = Math.min(jobs, 100_000);
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

async function claimCost(store: JsonStore, claims: number): Promise<number> {
  const lanes = providers.map((provider) => laneKey(targetOf(provider)));
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

const never = Number.MAX_SAFE_INTEGER;

async function measureSmall(): Promise<void> {
  const small = await opened('small', never);
  await fill(small, 0, 1_000, 64);
  await claimCost(small, 5);
  await small.close();
  const again = await opened('small', never);
  say('claim, 1,000 pending, 50 a commit', await claimCost(again, 10), 'µs/job');
  await again.close();
}

async function measureJournal(): Promise<void> {
  const before = memory();
  const store = await opened('data', never);
  const alone = Math.min(5_000, jobs / 10);
  say('commits, 1 committer', await fill(store, 0, alone, 1), 'records/s');
  say('commits, 64 committers', await fill(store, alone, jobs, 64), 'records/s');
  say('resident memory of the process', process.memoryUsage().rss / 1e6, 'MB');
  say(`memory a job of 1 KB, ${jobs} pending`, (memory() - before) / jobs, 'bytes');
  say(`claim, ${jobs} pending, 50 a commit`, await claimCost(store, 100), 'µs/job');
  const pages = 1_000;
  const start = performance.now();
  for (let i = 0; i < pages; i += 1) {
    await store.jobs(queryOf({ statuses: ['pending'], provider: 'openai', offset: i * 10 }));
  }
  say('page of 50 by status and provider', ((performance.now() - start) * 1000) / pages, 'µs');
  await timed('text search through all jobs', () => store.jobs(queryOf({ text: 'not there' })));
  await store.close();
}

await measureSmall();
await measureJournal();
memory();

const checkpoints: { bytes: number; durationMs: number }[] = [];
const sink = {
  write(line: string) {
    const { msg, bytes, durationMs } = JSON.parse(line);
    if (msg === 'made a checkpoint') checkpoints.push({ bytes, durationMs });
    else process.stdout.write(line);
  },
};
const logger = pino({ level: 'info' }, sink);
const replayed = createJsonStore({ path: join(folder, 'data'), clock: systemClock, headStart, logger });
await timed(`open, ${jobs} jobs, journal only`, () => replayed.open());

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
await timed('checkpoint of all of it', () => replayed.checkpoint());
delay.disable();
say('event loop delay while idle and that checkpoint, p99.9', delay.percentile(99.9) / 1e6, 'ms');
say('event loop delay while idle and that checkpoint, max', delay.max / 1e6, 'ms');
delay.reset();
delay.enable();
let next = jobs;
const start = performance.now();
const commitAll = async () => {
  while (next < jobs + loaded) {
    next += 1;
    await replayed.commit([newJob(next)]);
    const demand = { lanes: [laneKey(targetOf('openai'))], limit: 1 };
    await replayed.claim(demand, (job) => transition(job, 'running.active'));
  }
};
await Promise.all(Array.from({ length: 64 }, commitAll));
delay.disable();
const seconds = (performance.now() - start) / 1000;
say('64 callers, each a new job and a claim, checkpoints meanwhile', (2 * loaded) / seconds, 'records/s');
say('checkpoints meanwhile', checkpoints.length, '');
for (const { bytes, durationMs } of checkpoints) say(`  of ${Math.round(bytes / 1e6)} MB`, durationMs, 'ms');
for (const share of [50, 99, 99.9]) {
  say(`event loop delay meanwhile, p${share}`, delay.percentile(share) / 1e6, 'ms');
}
say('event loop delay meanwhile, max', delay.max / 1e6, 'ms');
say('resident memory of the process', process.memoryUsage().rss / 1e6, 'MB');
await replayed.checkpoint();
await replayed.close();

await rm(join(folder, 'small'), { recursive: true });
const reopen = fileURLToPath(new URL('./reopen.ts', import.meta.url));
for (const line of execFileSync(process.execPath, [reopen, join(folder, 'data')], { encoding: 'utf8' }).split(
  '\n',
)) {
  if (line !== '') process.stdout.write(`${line}\n`);
}
await rm(folder, { recursive: true });
