import type { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import type { Assignment } from '../../src/domain/workerProtocol.ts';
import { depth } from '../support/depth.ts';
import { type Attempted, attempt, connections } from '../support/e2eHttp.ts';
import { completeFrame, DurableWorker, type Work } from '../support/e2eWorker.ts';
import { seededRandom } from '../support/fakeClock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort, type Running, spawnCoordinator, startCoordinator, until } from '../support/process.ts';
import {
  type Asking,
  allJobs,
  codeOf,
  contradictions,
  countOf,
  type Remembered,
  type Told,
} from './history.ts';

/** `.ci/run` asks for 24 kills; so few show within some 10 s that the order of write and acknowledgement holds. */
const kills = Number(process.env.SVC_TEST_KILLS ?? 4);
const dispatches = kills * depth(600, 830);
const connectionsMax = 48;
/** Acknowledged dispatches between a start and its kill. */
const acksBetween = { min: 250, max: depth(750, 1_050) };
/** Every so many kills come while the process still starts, that long after its begin, ms. */
const killInStartEvery = Math.min(6, kills - 1);
const killInStartMs = { min: 20, max: 600 };
/** Of a text of some 80 bytes. */
const inputRepeatsMax = 40;

/** The coordinator that stands at one place and dies and comes back; clients wait for it when nobody listens. */
class Phoenix {
  readonly port: number;
  readonly folder: string;
  readonly log: string[] = [];
  #t: ExecutionContext;
  #up = Promise.withResolvers<void>();
  #running: Running | null = null;

  constructor(t: ExecutionContext, port: number) {
    this.#t = t;
    this.port = port;
    this.folder = temporaryFolder(t);
  }

  get options() {
    // Reaped by its worker's word only: a job is lost when the assignment was committed and never left.
    const jobs = { reap_stale_after_seconds: 120, max_reaps: 1000, timeout_seconds: 0 };
    return { folder: this.folder, port: this.port, config: { jobs } };
  }

  /** Resolves while a coordinator listens. */
  up(): Promise<void> {
    return this.#up.promise;
  }

  async start(): Promise<Running> {
    this.#running = await startCoordinator(this.#t, this.options);
    this.#up.resolve();
    return this.#running;
  }

  async kill(): Promise<void> {
    this.#up = Promise.withResolvers();
    await this.#running?.process.kill();
    this.log.push(this.#running?.process.out ?? '');
  }

  /** Start it and kill it before it listens, or just after. */
  async killInStart(afterMs: number): Promise<void> {
    const starting = spawnCoordinator(this.#t, this.options);
    await delay(afterMs);
    await starting.kill();
  }
}

/** Nothing of the request has happened: it listens, and its store is not open yet. */
function isStarting(attempted: Attempted): boolean {
  return attempted.kind === 'answer' && codeOf(attempted.answer) === 'starting';
}

/** Sends a request until somebody was there to take it. */
async function delivered(
  phoenix: Phoenix,
  agent: Agent,
  asked: { method: string; path: string; body?: string },
): Promise<Exclude<Attempted, { kind: 'refused' }>> {
  for (;;) {
    await phoenix.up();
    const attempted = await attempt(phoenix.port, { ...asked, agent });
    if (attempted.kind !== 'refused' && !isStarting(attempted)) return attempted;
    // The kill is known to the clients before it is known here.
    await delay(5);
  }
}

// A kill -9 leaves the page cache alone, so this holds the order of write and acknowledgement against the promises, and
// not that of fsync and acknowledgement: that is held by the failing files of test/store.
test('what was acknowledged outlives kill -9 at any moment, and a result is accepted exactly once', async (t) => {
  t.timeout(300_000);
  const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
  t.log(`SVC_TEST_SEED=${seed}`);
  // The seed gives the kills and the workers' times; which request meets which kill is the machine's.
  const random = seededRandom(seed);
  const between = ({ min, max }: { min: number; max: number }) => min + random.next() * (max - min);
  const phoenix = new Phoenix(t, await freePort());
  const agent = connections(connectionsMax);
  t.teardown(() => agent.destroy());
  const asked = new Map<string, Remembered>();
  const surprises: string[] = [];
  let acks = 0;
  let isOver = false;

  const workRandom = seededRandom(seed + 1);
  const failedOnce = new Set<string>();
  const work = (job: Assignment): Work => {
    const after = workRandom.next() < 0.9 ? workRandom.next() * 5 : workRandom.next() * 400;
    if (job.params.fail_first === true && !failedOnce.has(job.job_id)) {
      const { job_id, lease } = job;
      const error = { class: 'invalid_request', message: 'told to' } as const;
      return { after, frame: { type: 'fail', job_id, lease, error } };
    }
    return { after, frame: completeFrame(job, `${job.job_id} by lease ${job.lease}`) };
  };
  const retries: Promise<void>[] = [];
  const startWorker = (name: string) => {
    const url = `http://127.0.0.1:${phoenix.port}`;
    const worker = new DurableWorker(t, {
      url,
      name,
      concurrency: 64,
      work,
      random: () => workRandom.next(),
    });
    worker.onAck = ({ job, frame, ack }) => {
      if (frame?.type !== 'fail' || ack?.accepted !== true || failedOnce.has(job.job_id)) return;
      failedOnce.add(job.job_id);
      retries.push(retry(job));
    };
    return worker;
  };

  /** Its name stands in the prompt: the dispatch's own answer, with the id, may have been lost in a kill. */
  const retry = async ({ job_id, prompt }: Assignment): Promise<void> => {
    const attempted = await delivered(phoenix, agent, { method: 'POST', path: `/api/jobs/${job_id}/retry` });
    const remembered = asked.get(nameOfPrompt(prompt));
    if (remembered === undefined) surprises.push(`nobody asked for ${job_id}`);
    else remembered.retry = toldOf(attempted, 200, 'invalid_transition');
    if (remembered?.retry === 'fail') surprises.push(`the retry of the failed job ${job_id} was refused`);
  };

  const cancel = async (id: string, remembered: Remembered): Promise<void> => {
    const attempted = await delivered(phoenix, agent, { method: 'POST', path: `/api/jobs/${id}/cancel` });
    remembered.cancel = toldOf(attempted, 200, 'invalid_transition');
  };

  const toldOf = (attempted: Attempted, okStatus: number, expectedCode: string): Told => {
    if (attempted.kind !== 'answer') return 'unknown';
    const { status } = attempted.answer;
    if (status === okStatus) return 'ok';
    if (codeOf(attempted.answer) !== expectedCode)
      surprises.push(`${status} ${attempted.answer.text.slice(0, 200)}`);
    return 'fail';
  };

  const client = async (indexes: IterableIterator<number>): Promise<void> => {
    for (const index of indexes) {
      const asking = askingOf(index);
      const remembered: Remembered = { asking, dispatch: 'fail', job: null, cancel: null, retry: null };
      asked.set(asking.metadata.name, remembered);
      const body = JSON.stringify(asking);
      const attempted = await delivered(phoenix, agent, { method: 'POST', path: '/api/jobs', body });
      remembered.dispatch = toldOf(attempted, 201, 'never');
      if (attempted.kind !== 'answer' || remembered.dispatch !== 'ok') continue;
      const job = attempted.answer.json as WireJob;
      remembered.job = job;
      acks += 1;
      if (index % 25 === 3) await cancel(job.id, remembered);
      if (index % 40 === 0) {
        const seen = await delivered(phoenix, agent, { method: 'GET', path: `/api/jobs/${job.id}` });
        if (seen.kind === 'answer' && seen.answer.status !== 200)
          surprises.push(`${job.id} was acknowledged and then ${seen.answer.status}`);
      }
    }
  };

  let killed = 0;
  const killer = async (): Promise<void> => {
    while (killed < kills && !isOver) {
      const goal = acks + between(acksBetween);
      await until(`${goal} acks, there are ${acks}`, () => acks >= goal || isOver, 120_000);
      await delay(random.next() * 15);
      await phoenix.kill();
      killed += 1;
      if (killed % killInStartEvery === 0) {
        await phoenix.killInStart(between(killInStartMs));
        killed += 1;
      }
      await phoenix.start();
    }
  };

  await phoenix.start();
  const workers = [startWorker('first'), startWorker('second')];
  const startedAt = performance.now();
  const indexes = Array.from({ length: dispatches }, (_, i) => i).values();
  const load = Promise.all(Array.from({ length: connectionsMax }, () => client(indexes))).finally(() => {
    isOver = true;
  });
  await Promise.all([load, killer()]);
  const loadMs = performance.now() - startedAt;
  let left = '';
  await until(
    () => `everything ends; ${left}`,
    async () => {
      await Promise.all(retries);
      const pending = await countOf(phoenix.port, 'pending');
      const running = await countOf(phoenix.port, 'running');
      const held = workers.reduce((sum, worker) => sum + worker.held, 0);
      left = `pending ${pending}, running ${running}, not acked by workers ${held}`;
      return pending + running + held === 0;
    },
    60_000,
  );
  const jobs = await allJobs(phoenix.port);
  const told = Map.groupBy(asked.values(), ({ dispatch }) => dispatch);
  const lost = jobs.reduce((sum, { reap_count }) => sum + reap_count, 0);
  t.log(
    `${killed} kills in ${Math.round(loadMs)} ms; dispatches ok ${told.get('ok')?.length ?? 0}, unknown ${told.get('unknown')?.length ?? 0}; jobs ${jobs.length}, assignments lost ${lost}, retries ${retries.length}, ended after ${Math.round(performance.now() - startedAt)} ms`,
  );
  t.true(killed >= kills * 0.8, `only ${killed} kills`);
  t.deepEqual(surprises.slice(0, 10), []);
  t.deepEqual(workers.flatMap(({ faults }) => faults).slice(0, 10), []);
  t.deepEqual(contradictions(jobs, asked, workers).slice(0, 10), []);
  await phoenix.kill();
  await phoenix.start();
  t.deepEqual(firstDifference(await allJobs(phoenix.port), jobs), null);
});

/** The same for an index in every run; the name stands in the prompt too, where the worker can see it. */
function askingOf(index: number): Asking {
  const name = `job-${index}`;
  const repeats = 1 + ((index * 7) % inputRepeatsMax);
  return {
    prompt: `${name}: say what this text is about`,
    ...(index % 3 === 0
      ? {}
      : { input: 'The quick brown fox jumps over the lazy dog; Größe, naïve, 漢字, 🦊. '.repeat(repeats) }),
    provider: 'echo',
    priority: ['normal', 'high', 'low'][index % 3] ?? 'normal',
    tags: index % 5 === 0 ? [`tag-${index % 7}`, 'e2e'] : [],
    params: index % 25 === 7 ? { fail_first: true } : {},
    metadata: { name },
  };
}

function nameOfPrompt(prompt: string | null): string {
  return prompt?.split(':')[0] ?? '';
}

/** Where two lists of jobs part; `heartbeat_at` lives in memory only. */
function firstDifference(jobs: readonly WireJob[], others: readonly WireJob[]): unknown {
  const plain = (job: WireJob | undefined) => JSON.stringify({ ...job, heartbeat_at: null });
  for (let i = 0; i < Math.max(jobs.length, others.length); i += 1) {
    if (plain(jobs[i]) !== plain(others[i])) return { now: jobs[i] ?? null, before: others[i] ?? null };
  }
  return null;
}
