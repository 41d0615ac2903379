import test from 'ava';
import fc from 'fast-check';
import { type JobRecord, turnsMax } from '../../src/domain/job.ts';
import { type HistoryEntry, historyOf } from '../../src/domain/jobHistory.ts';
import type { JobState } from '../../src/domain/states.ts';
import { after, type JobSnapshot, type Make, make, newJob, stepped, targetOf } from './jobs.ts';
import { lives } from './lives.ts';
import { pathOf } from './stateTable.ts';

const createdAt = 1_000;

function stateOf(snapshot: JobSnapshot): JobState {
  return pathOf(snapshot) as JobState;
}

/** The job as the store would keep it. */
function stored(snapshot: JobSnapshot, notBefore: number | null = null): JobRecord {
  return {
    id: 'job',
    ordinal: 1,
    version: 1,
    createdAt,
    createdBy: null,
    request: {
      prompt: 'hello',
      input: null,
      messages: null,
      provider: null,
      model: null,
      priority: 'normal',
      tier: null,
      tags: [],
      params: {},
      metadata: {},
      timeoutSeconds: null,
      notBefore,
    },
    state: stateOf(snapshot),
    life: JSON.parse(JSON.stringify(snapshot.context)),
  };
}

/** What really happens to a job, written down while it happens. */
function live(
  notBefore: number | null,
  chain: readonly ReturnType<typeof targetOf>[],
  makers: readonly Make[],
): { job: JobRecord; seen: HistoryEntry[] } {
  let snapshot = newJob({ notBefore, chain: [...chain] });
  const seen: HistoryEntry[] = [
    { at: createdAt, event: null, from: null, to: stateOf(snapshot), attempt: null },
  ];
  for (const maker of makers) {
    const event = maker(snapshot.context);
    const { taken, job } = stepped(snapshot, event);
    if (taken === null) continue;
    const { from, to, context } = taken;
    const attempt = context.attempts.at(-1)?.number ?? null;
    if (from !== to) seen.push({ at: event.at, event: event.type, from, to, attempt });
    snapshot = job;
  }
  return { job: stored(snapshot, notBefore), seen };
}

test('what is stored tells every state that a job went through, when, and by which event', (t) => {
  fc.assert(
    fc.property(lives, ([notBefore, chain, makers]) => {
      const { job, seen } = live(notBefore, chain, makers);
      t.deepEqual(historyOf(job), { entries: seen, isTruncated: false });
    }),
    { numRuns: 1_000 },
  );
});

/** Those that end a job for good come less often, so that lives are long. */
const endings: Make[] = [make.completed(), make.cancelled];
const others: Make[] = [
  make.due,
  make.assigned,
  make.failed('auth', { next: targetOf('b') }),
  make.failed('rate_limited'),
  make.failed('overloaded'),
  make.failed('invalid_request'),
  make.workerLost,
  make.workerReturned,
  make.timedOut(),
  make.reaped(),
  make.reaped('lost', { maxReaps: 0 }),
  make.released,
  make.retried(),
];

test('the same of long lives, in which every event is one that the job accepts', (t) => {
  let longest = 0;
  const choices = fc.array(fc.nat(1_000), { maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(fc.option(fc.constant(5_000)), choices, (notBefore, picks) => {
      let snapshot = newJob({ notBefore });
      const makers = picks.flatMap((pick) => {
        const sorts = pick % 20 === 0 ? endings : others;
        const accepted = sorts.filter((maker) => snapshot.can(maker(snapshot.context)));
        const maker = accepted[pick % accepted.length];
        if (maker === undefined) return [];
        snapshot = after(snapshot, maker);
        return [maker];
      });
      const { job, seen } = live(notBefore, [], makers);
      longest = Math.max(longest, seen.length);
      t.deepEqual(historyOf(job), { entries: seen, isTruncated: false });
    }),
    { numRuns: 1_000 },
  );
  t.true(longest > 20, `the longest life had ${longest} states`);
});

test('a job that ran through at once has no turns to remember', (t) => {
  const job = stored(after(newJob(), make.assigned, make.completed()));
  t.false('turns' in job.life);
  t.deepEqual(
    historyOf(job).entries.map(({ event, to }) => [event, to]),
    [
      [null, 'pending.ready'],
      ['job.assigned', 'running.active'],
      ['job.completed', 'completed'],
    ],
  );
});

test('a late result keeps the time at which the lease was taken back', (t) => {
  const job = stored(after(newJob(), make.assigned, make.workerLost, make.reaped(), make.completed()));
  t.deepEqual(
    historyOf(job).entries.map(({ at, from, to }) => [at, from, to]),
    [
      [1_000, null, 'pending.ready'],
      [1_100, 'pending.ready', 'running.active'],
      [1_200, 'running.active', 'running.stuck'],
      [1_300, 'running.stuck', 'pending.ready'],
      [1_400, 'pending.ready', 'completed'],
    ],
  );
});

test('a job that flaps remembers its last turns, stays small, and says that some are missing', (t) => {
  const flaps = Array.from({ length: turnsMax }, () => [make.workerLost, make.workerReturned]).flat();
  const job = stored(after(newJob(), make.assigned, ...flaps, make.completed()));
  t.is(job.life.turns?.length, turnsMax);
  const { entries, isTruncated } = historyOf(job);
  t.true(isTruncated);
  t.is(entries.at(-1)?.to, 'completed');
  t.true(entries.length <= turnsMax + 3);
});

test('what is told of a job is bounded, and goes on to the state that it is in', (t) => {
  const rounds = Array.from({ length: 600 }, () => [
    make.assigned,
    make.failed('invalid_request'),
    make.retried(),
  ]).flat();
  const { entries, isTruncated } = historyOf(stored(after(newJob(), ...rounds)));
  t.is(entries.length, 1_000);
  t.true(isTruncated);
  t.like(entries.at(-1), { event: 'job.retried', to: 'pending.ready', attempt: 600 });
});

test('whatever was forgotten, the history ends in the state that the job is in', (t) => {
  fc.assert(
    fc.property(lives, fc.integer({ min: 1, max: 5 }), ([notBefore, chain, makers], kept) => {
      const { job } = live(notBefore, chain, makers);
      const turns = (job.life.turns ?? []).slice(-kept);
      const { entries } = historyOf({ ...job, life: { ...job.life, turns } });
      t.is(entries.at(-1)?.to, job.state);
    }),
    { numRuns: 1_000 },
  );
});
