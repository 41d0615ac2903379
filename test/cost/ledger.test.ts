import test from 'ava';
import fc from 'fast-check';
import { ledgerOf } from '../../src/coordinator/jobs/ledger.ts';
import type { JobLife, JobRecord } from '../../src/domain/job.ts';
import { noCost, unknownCost } from '../../src/domain/money.ts';
import type { LedgerEntry } from '../../src/store/store.ts';
import {
  after,
  dollar,
  type JobSnapshot,
  type Make,
  make,
  newJob,
  targetOf,
  usageOf,
} from '../machines/jobs.ts';
import { request } from '../support/coordinator.ts';
import { countsOf, sumBy } from './reckoning.ts';

const asked = request({ tier: 'gold', tags: ['x', 'y'] });

function recordOf(life: JobLife): JobRecord {
  return {
    id: 'j',
    ordinal: 1,
    version: 1,
    createdAt: 1_000,
    createdBy: null,
    request: asked,
    state: 'pending.ready',
    life,
  };
}

/** What the last of these events adds to the ledger, in short: what, where, how much. */
function added(...events: Make[]): unknown[] {
  const before = after(newJob(), ...events.slice(0, -1));
  const entries = ledgerOf(recordOf(before.context), after(before, ...events.slice(-1)).context);
  return entries.map(({ at, outcome, amounts }) => [
    at,
    outcome,
    amounts.attempts,
    amounts.jobs,
    amounts.nanoDollars,
    amounts.unknown,
    amounts.inputTokens,
  ]);
}

const untold = { cost: unknownCost };

test('what has not ended adds nothing', (t) => {
  t.deepEqual(added(make.assigned), []);
  t.deepEqual(added(make.assigned, make.workerLost), []);
  t.deepEqual(added(make.cancelled), [], 'a job that never ran cost nothing');
});

test('the end of an attempt and of its job are one line, with everything that reports keep apart', (t) => {
  const running = after(newJob(), make.assigned);
  const [entry, ...more] = ledgerOf(recordOf(running.context), after(running, make.completed()).context);
  t.deepEqual(more, []);
  t.deepEqual(entry, {
    at: 1_200,
    provider: 'a',
    model: null,
    workerId: 'w1',
    outcome: 'completed',
    tier: 'gold',
    tags: ['x', 'y'],
    amounts: {
      jobs: 1,
      attempts: 1,
      nanoDollars: 1_000_000_000,
      unknown: 0,
      inputTokens: 10,
      outputTokens: 5,
      cachedInputTokens: 0,
      reasoningTokens: 0,
    },
  });
});

test('an attempt that fails and is tried again counts, its job does not yet', (t) => {
  t.deepEqual(added(make.assigned, make.failed('overloaded')), [[1_200, 'failed', 1, 0, 0, 0, 0]]);
});

test('a silent end counts as unknown, and the usage that comes late takes its place in the period of that end', (t) => {
  const reaped = make.reaped('reaped', untold);
  t.deepEqual(added(make.assigned, reaped), [[1_200, 'reaped', 1, 0, 0, 1, 0]]);
  t.deepEqual(added(make.assigned, reaped, make.usageReported()), [
    [1_200, 'reaped', 0, 0, 1_000_000_000, -1, 7],
  ]);
});

test('a late result moves the attempt from where it was counted to where it is now', (t) => {
  t.deepEqual(added(make.assigned, make.reaped('reaped', untold), make.completed()), [
    [1_200, 'reaped', -1, 0, 0, -1, 0],
    [1_300, 'completed', 1, 1, 1_000_000_000, 0, 10],
  ]);
});

test('a cancelled job counts at once, and what its attempt still cost comes later', (t) => {
  const cancelled: Make = (life) => ({ ...make.cancelled(life), ...untold }) as ReturnType<Make>;
  t.deepEqual(added(make.assigned, cancelled), [[1_200, 'cancelled', 1, 1, 0, 1, 0]]);
  t.deepEqual(added(make.assigned, cancelled, make.usageReported()), [
    [1_200, 'cancelled', 0, 0, 1_000_000_000, -1, 7],
  ]);
});

test('a job cancelled while it waits after an attempt counts where that attempt ran, at its own end', (t) => {
  t.deepEqual(added(make.assigned, make.failed('overloaded'), make.cancelled), [
    [1_300, 'failed', 0, 1, 0, 0, 0],
  ]);
});

test('a retry takes the end of the job back, and it counts again when it ends', (t) => {
  const failed = make.failed('auth');
  t.deepEqual(added(make.assigned, failed), [[1_200, 'failed', 1, 1, 0, 0, 0]]);
  t.deepEqual(added(make.assigned, failed, make.retried()), [[1_200, 'failed', 0, -1, 0, 0, 0]]);
  t.deepEqual(added(make.assigned, failed, make.retried(), make.assigned, make.completed()), [
    [1_500, 'completed', 1, 1, 1_000_000_000, 0, 10],
  ]);
});

test('a retry of a stuck job ends its attempt as lost', (t) => {
  t.deepEqual(added(make.assigned, make.workerLost, make.retried(untold)), [[1_300, 'lost', 1, 0, 0, 1, 0]]);
});

test('an attempt for which no model was asked counts under the one that ran', (t) => {
  const running = after(newJob(), make.assigned);
  const result = {
    output: '',
    finishReason: 'stop',
    provider: 'a',
    workerId: 'w1',
    latencyMs: 1,
    firstTokenMs: null,
  };
  const completed = make.completed({ result: { ...result, model: 'm-2', usage: usageOf(10) } });
  const [entry] = ledgerOf(recordOf(running.context), after(running, completed).context);
  t.is(entry?.model, 'm-2');
  const named = after(newJob({ target: targetOf('a', 'm') }), make.assigned);
  const [asAsked] = ledgerOf(recordOf(named.context), after(named, completed).context);
  t.is(asAsked?.model, 'm');
});

const event = fc.oneof(
  fc.constantFrom<Make[]>(
    make.due,
    make.assigned,
    make.cancelled,
    make.workerLost,
    make.workerReturned,
    make.released,
    make.completed(),
    make.failed('overloaded', { usage: usageOf(3), cost: dollar }),
    make.failed('auth'),
    make.failed('timeout', { cost: unknownCost }),
    make.timedOut(untold),
    make.reaped('reaped', untold),
    make.reaped('lost', { cost: { nanoDollars: 0, status: 'known' } }),
    make.reaped('reaped', { maxReaps: 0, cost: noCost }),
    make.retried(untold),
  ),
  fc.nat(4).map((lease) => make.usageReported({ lease, usage: usageOf(2), cost: dollar })),
  fc.nat(4).map((lease) => make.completed({ lease })),
);

test('after any history the lines sum up to the attempts as they stand, by every outcome and quarter-hour', (t) => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      let job: JobSnapshot = newJob();
      const ledger: LedgerEntry[] = [];
      for (const each of events) {
        const next = each(job.context);
        if (!job.can(next)) continue;
        const changed = after(job, () => next);
        // The store's copy is never the same object as the actor's.
        ledger.push(...ledgerOf(recordOf(structuredClone(job.context)), changed.context));
        job = changed;
      }
      const key = (at: number, outcome: string | null) => [`${outcome} ${at}`];
      const expected = sumBy(countsOf(recordOf(job.context)), ({ at, outcome }) => key(at, outcome));
      t.deepEqual(
        sumBy(ledger, ({ at, outcome }) => key(at, outcome)),
        expected,
      );
    }),
    { numRuns: 500 },
  );
});
