import test from 'ava';
import {
  after,
  dollar,
  type JobSnapshot,
  type Make,
  make,
  newJob,
  result,
  stepped,
  targetOf,
  usageOf,
} from './jobs.ts';

/** What a job remembers when it is taken back, retried, and charged late; and what it wants to be done. */

const active = after(newJob(), make.assigned);
const reap = make.reaped('reaped', { maxReaps: 3 });

test('a job is taken back three times and ended by the fourth', (t) => {
  const thrice = after(active, reap, make.assigned, reap, make.assigned, make.reaped('lost'));
  t.deepEqual(thrice.value, { pending: 'ready' });
  t.is(thrice.context.reapCount, 3);
  const { value, context } = after(thrice, make.assigned, reap);
  t.is(value, 'failed');
  t.is(context.reapCount, 4);
  t.like(context.error, { class: 'worker_lost', code: 'worker_lost', status: null });
  t.deepEqual(
    context.attempts.map(({ outcome }) => outcome),
    ['reaped', 'reaped', 'lost', 'reaped'],
  );
});

test('each attempt has the next number and a lease that is higher by one', (t) => {
  const { context } = after(
    active,
    reap,
    make.assigned,
    make.released,
    make.assigned,
    make.failed('overloaded'),
  );
  t.deepEqual(
    context.attempts.map(({ number, lease }) => [number, lease]),
    [
      [1, 1],
      [2, 2],
      [3, 3],
    ],
  );
  t.is(context.lease, 3);
});

test('a release counts neither as a failure nor as a reap', (t) => {
  const { context } = after(active, make.released);
  t.like(context, { reapCount: 0, tallies: {}, retryCount: 0 });
});

test('a retry starts the automatic counters again and keeps the history', (t) => {
  const failed = after(
    active,
    reap,
    make.assigned,
    make.failed('overloaded'),
    make.due,
    make.assigned,
    make.failed('auth'),
  );
  t.is(failed.value, 'failed');
  const { context } = after(failed, make.retried({ target: targetOf('c'), chain: [targetOf('d')] }));
  t.like(context, { retryCount: 1, reapCount: 0, tallies: {}, error: null, result: null });
  t.like(context, { startedAt: null, finishedAt: null, delayedUntil: null, enqueuedAt: 1_000, lease: 3 });
  t.like(context, { target: targetOf('c'), chain: [targetOf('d')] });
  t.is(context.attempts, failed.context.attempts);
  t.is(context.route, failed.context.route);
  t.is(
    after(failed, make.retried(), make.assigned, make.failed('auth'), make.retried()).context.retryCount,
    2,
  );
});

test('a retry of a stuck job takes the lease back: the attempt is lost, and its late result still welcome', (t) => {
  const retried = after(active, make.workerLost, make.retried());
  const [attempt] = retried.context.attempts;
  t.like(attempt, { outcome: 'lost', finishedAt: retried.context.updatedAt, error: null });
  t.like(retried.context, { retryCount: 1, reapCount: 0, startedAt: null });
  t.is(after(retried, make.completed()).value, 'completed');
});

test('a late result makes the attempt that was taken back the completed one', (t) => {
  const { context } = after(active, reap, make.completed({ usage: usageOf(10), cost: dollar }));
  t.is(context.attempts.length, 1);
  t.like(context.attempts[0], { outcome: 'completed', usage: usageOf(10), cost: dollar, error: null });
  t.is(context.attempts[0]?.finishedAt, context.finishedAt);
  t.like(context, { startedAt: 1_100, result, error: null, reapCount: 1 });
});

test('what a cancelled job still cost is recorded on its attempt and nowhere else', (t) => {
  const job = after(active, make.failed('overloaded'), make.due, make.assigned, make.cancelled);
  const late = { lease: 2, usage: usageOf(3), cost: dollar };
  const { context, value } = after(job, make.usageReported(late));
  t.is(value, 'cancelled');
  t.deepEqual(context, {
    ...job.context,
    attempts: [
      job.context.attempts[0],
      { ...job.context.attempts[1], usage: late.usage, cost: dollar },
    ] as never,
    updatedAt: job.context.updatedAt + 100,
  });
});

test('usage of an overtaken attempt leaves the one that runs alone', (t) => {
  const job = after(active, reap, make.assigned);
  const { attempts } = after(job, make.usageReported({ lease: 1 })).context;
  t.like(attempts[0], { outcome: 'reaped', usage: usageOf(7), cost: dollar });
  t.is(attempts[1], job.context.attempts[1]);
});

test('an attempt is charged once: a second report is refused, also after its own word', (t) => {
  const jobs: JobSnapshot[] = [
    after(active, make.cancelled, make.usageReported()),
    after(active, reap, make.usageReported()),
    after(active, make.completed()),
    after(active, make.failed('auth', { usage: usageOf(1), cost: dollar })),
  ];
  for (const job of jobs) t.false(job.can(make.usageReported({ usage: usageOf(9) })(job.context)));
});

test('an attempt that was charged is over: its result is not taken late', (t) => {
  const job = after(active, reap, make.usageReported());
  t.false(job.can(make.completed()(job.context)));
});

/** The effects that the machine asks the coordinator for. */
function effects(job: JobSnapshot, maker: Make): unknown {
  return stepped(job, maker(job.context)).taken?.effects;
}

for (const [what, job, maker, wanted] of [
  ['an assignment is handed to its worker', newJob(), make.assigned, { type: 'handToWorker' }],
  [
    'a cancel of a running job tells its worker',
    active,
    make.cancelled,
    { type: 'abortWorker', reason: 'cancelled' },
  ],
  [
    'a job that ran too long is stopped at its worker',
    active,
    make.timedOut(),
    { type: 'abortWorker', reason: 'timed_out' },
  ],
  ['a cancel of a waiting job tells no worker', newJob(), make.cancelled, null],
  ['a result tells nobody', active, make.completed(), null],
  ['a lease taken back tells nobody: its next frame is answered', active, reap, null],
] as const) {
  test(what, (t) => {
    t.deepEqual(effects(job, maker), wanted === null ? [] : [wanted]);
  });
}
