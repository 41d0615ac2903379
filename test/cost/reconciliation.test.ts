import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { Outcome } from '../../src/coordinator/jobs/index.ts';
import { addAmounts, type CostAmounts, noAmounts } from '../../src/domain/cost.ts';
import { type BreakdownName, breakdowns, type CostLine, periodNames } from '../../src/domain/costReport.ts';
import { CoordinatorError } from '../../src/domain/errors.ts';
import type { ErrorClass } from '../../src/domain/failure.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { usageFromWire } from '../../src/domain/usage.ts';
import type { Assignment } from '../../src/domain/workerProtocol.ts';
import { unsyncedFiles } from '../store/failingFiles.ts';
import { queryOf } from '../store/jobs.ts';
import { type Bundle, type HandWorker, request, setup } from '../support/coordinator.ts';
import { depth } from '../support/depth.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { type Count, countsOf, sumBy } from './reckoning.ts';

const minute = 60_000;
const zones = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/New_York'];

/** Shortly before the clocks of one of the zones change, or a month, week or day ends. */
const starts = [
  '2026-10-24T21:50:00Z',
  '2026-10-03T14:40:00Z',
  '2026-04-04T14:20:00Z',
  '2026-11-01T05:40:00Z',
  '2026-11-30T23:40:00Z',
  '2026-12-31T18:05:00Z',
].map((text) => Date.parse(text));

const gold = {
  inputPerMillion: 1_000,
  outputPerMillion: 2_000,
  cachedInputPerMillion: 100,
  cacheWritePerMillion: null,
  free: false,
};
const overrides = {
  pricing: { gold: { g: gold } },
  jobs: { reapStaleAfterSeconds: 120, timeoutSeconds: 900, maxAttempts: 2, maxReaps: 1 },
};

const usage = fc
  .record({ input_tokens: fc.nat(1_000), cached_input_tokens: fc.nat(500), output_tokens: fc.nat(300) })
  .map(usageFromWire);
const errorClass = fc.constantFrom<ErrorClass>('overloaded', 'auth', 'timeout', 'rate_limited', 'unknown');

const word: fc.Arbitrary<Outcome> = fc.oneof(
  usage.map((used): Outcome => {
    const result = { output: 'x', finishReason: 'stop', latencyMs: 1, firstTokenMs: null };
    return { type: 'complete', ...result, model: null, usage: used };
  }),
  fc.tuple(errorClass, fc.option(usage)).map(([kind, used]): Outcome => {
    const failure = { class: kind, message: 'no', status: null, code: null, retryAfterMs: null };
    return { type: 'fail', failure, usage: used };
  }),
  fc.option(usage).map((used): Outcome => ({ type: 'aborted', usage: used })),
  fc.constant<Outcome>({ type: 'release' }),
);

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('dispatch' as const),
      provider: fc.constantFrom('gold', 'echo', 'nobody'),
      model: fc.constantFrom('g', 'h', null),
      tier: fc.constantFrom('vip', null),
      tags: fc.constantFrom<string[]>([], ['a'], ['a', 'b']),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('word' as const), of: fc.nat(), word }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('cancel', 'retry'), of: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('drop', 'connect'), of: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.oneof(fc.nat(5 * minute), fc.nat(20 * 60 * minute), fc.nat(3 * 86_400_000)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('checkpoint', 'restart') }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A coordinator with two workers, and whatever they were ever given. */
class History {
  bundle: Bundle;
  readonly #workers: (HandWorker | null)[] = [null, null];
  readonly #given: { by: number; job: Assignment }[] = [];
  readonly #ids: string[] = [];

  constructor(bundle: Bundle) {
    this.bundle = bundle;
  }

  async connect(index: number): Promise<void> {
    if (this.#workers[index] !== null) return;
    const providers = index === 0 ? ['gold', 'nobody'] : ['gold', 'echo'];
    this.#workers[index] = await this.bundle.worker({ name: `w${index}`, providers, concurrency: 3 });
  }

  async take(each: Step): Promise<void> {
    const { coordinator, store, clock } = this.bundle;
    const pick = <T>(list: readonly T[], of: number): T | undefined => list[of % Math.max(1, list.length)];
    this.#collect();
    switch (each.kind) {
      case 'dispatch': {
        const { job } = await coordinator.dispatch(request(each));
        this.#ids.push(job.id);
        break;
      }
      case 'word': {
        const given = pick(this.#given, each.of);
        const worker = given === undefined ? null : this.#workers[given.by];
        if (given === undefined || worker == null) break;
        await worker.connection.conclude({ jobId: given.job.job_id, lease: given.job.lease }, each.word);
        break;
      }
      case 'cancel':
      case 'retry': {
        const id = pick(this.#ids, each.of);
        if (id === undefined) break;
        await coordinator[each.kind](id).catch((error: unknown) => {
          if (!(error instanceof CoordinatorError)) throw error;
        });
        break;
      }
      case 'drop':
        this.#workers[each.of]?.drop();
        this.#workers[each.of] = null;
        break;
      case 'connect':
        await this.connect(each.of);
        break;
      case 'advance':
        clock.advance(each.ms);
        break;
      case 'checkpoint':
        await store.checkpoint();
        break;
      case 'restart':
        // The test's random numbers begin anew, so ids differ by their time alone.
        clock.advance(1);
        this.bundle = await this.bundle.restart();
        this.#workers.fill(null);
        await this.connect(0);
        await this.connect(1);
    }
    await settled();
    this.#workers.forEach((worker, index) => {
      if (worker?.closed) this.#workers[index] = null;
    });
  }

  #collect(): void {
    for (const [by, worker] of this.#workers.entries()) {
      for (const job of worker?.jobs.splice(0) ?? []) this.#given.push({ by, job });
    }
  }
}

/** Some turns for what a step set off. Nothing depends on how many: the sums must be right whatever has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

const keysOf: Record<BreakdownName, (count: Count) => string[]> = {
  provider: ({ provider }) => [JSON.stringify([provider])],
  model: ({ provider, model }) => [JSON.stringify([provider, model])],
  worker: ({ workerId }) => [JSON.stringify([workerId])],
  tier: ({ tier }) => [JSON.stringify([tier])],
  tag: ({ tags }) => (tags.length === 0 ? [null] : tags).map((tag) => JSON.stringify([tag])),
};

function totalOf(counts: readonly Count[]): CostAmounts {
  return counts.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts);
}

/** Lines that came to nothing but tokens taken back and forth are shown by neither. */
function byKey(lines: readonly CostLine[]): Record<string, CostAmounts> {
  return sumBy(
    lines.map((line) => ({ ...line })),
    ({ key }) => [JSON.stringify(key)],
  );
}

/** The jobs, once a while has passed in which none of them changed. */
async function jobsAtRest(store: Bundle['store']): Promise<JobRecord[]> {
  for (;;) {
    const { jobs } = await store.jobs(queryOf({ limit: 1_000 }));
    for (let turns = 0; turns < 10; turns += 1) await settled();
    const { jobs: later } = await store.jobs(queryOf({ limit: 1_000 }));
    if (later.every((job, index) => job === jobs[index])) return jobs;
  }
}

/** Every report in every zone is what the attempts of all jobs come to. */
async function reconcile(t: ExecutionContext, { coordinator, store }: Bundle): Promise<void> {
  const jobs = await jobsAtRest(store);
  const counts = jobs.flatMap((job: JobRecord) => countsOf(job));
  for (const zone of zones) {
    for (const name of periodNames) {
      const { period, amounts, previous, series } = await coordinator.costSummary(name, zone);
      const { from, to, previousFrom, begins } = period;
      const within = (begin: number, end: number) => counts.filter(({ at }) => at >= begin && at < end);
      t.deepEqual(amounts, totalOf(within(from, to + 1)), `${name} ${zone}`);
      t.deepEqual(previous, totalOf(within(previousFrom, from)), `before ${name} ${zone}`);
      for (const [i, part] of series.entries()) {
        t.deepEqual(
          part.amounts,
          totalOf(within(part.from, begins[i + 1] ?? to + 1)),
          `${name} ${zone} ${i}`,
        );
      }
      for (const by of breakdowns) {
        const { lines, total, models } = await coordinator.costBreakdown(by, name, zone);
        t.deepEqual(total, amounts);
        t.deepEqual(byKey(lines), sumBy(within(from, to + 1), keysOf[by]), `${name} ${zone} ${by}`);
        const ofModels = [...models.values()].flat();
        if (by === 'provider')
          t.deepEqual(byKey(ofModels), sumBy(within(from, to + 1), keysOf.model), `${name} ${zone} models`);
      }
    }
  }
  const ended = (workerId: string, outcomes: readonly string[]) =>
    counts
      .filter((count) => count.workerId === workerId && outcomes.includes(count.outcome))
      .reduce((sum, { amounts }) => sum + amounts.attempts, 0);
  for (const { life, completed, failed } of await store.workers()) {
    t.is(completed, ended(life.id, ['completed']));
    t.is(failed, ended(life.id, ['failed', 'timed_out']));
  }
}

test('after any history, restarts and checkpoints between, every report is the sum of the attempts of all jobs', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...starts),
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      async (start, steps) => {
        const history = new History(
          await setup(t, overrides, { clock: new FakeClock(start), files: unsyncedFiles() }),
        );
        await history.connect(0);
        await history.connect(1);
        for (const each of steps) await history.take(each);
        await reconcile(t, history.bundle);
        history.bundle = await history.bundle.restart();
        await reconcile(t, history.bundle);
        await history.bundle.store.checkpoint();
        history.bundle = await history.bundle.restart();
        await reconcile(t, history.bundle);
        await history.bundle.coordinator.close();
      },
    ),
    { numRuns: depth(8, 25), includeErrorInReport: true, endOnFailure: true },
  );
});
