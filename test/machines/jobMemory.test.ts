import test from 'ava';
import type { JobEvent } from '../../machines/events.ts';
import type { AttemptOutcome, JobLife } from '../../src/domain/job.ts';
import { noCost } from '../../src/domain/money.ts';
import {
  after,
  dollar,
  failure,
  type JobSnapshot,
  type Make,
  make,
  newJob,
  result,
  rules,
  targetOf,
  usageOf,
} from './jobs.ts';

const active = after(newJob(), make.assigned);
const [a, b, c] = [targetOf('a'), targetOf('b', 'big'), targetOf('c')];

test('a new job remembers what it was dispatched with and nothing else', (t) => {
  const route = [
    { provider: 'z', model: null, workerId: null, outcome: 'skipped', why: 'no worker', at: 1 } as const,
  ];
  t.deepEqual(newJob({ chain: [b], route: [...route], priority: 'high' }).context, {
    strategy: 'fallback',
    target: a,
    chain: [b],
    priority: 'high',
    enqueuedAt: 1_000,
    delayedUntil: null,
    lease: 0,
    attempts: [],
    route,
    tallies: {},
    retryCount: 0,
    reapCount: 0,
    startedAt: null,
    finishedAt: null,
    updatedAt: 1_000,
    result: null,
    error: null,
  });
});

for (const [notBefore, state, enqueuedAt, delayedUntil] of [
  [null, { pending: 'ready' }, 1_000, null],
  [999, { pending: 'ready' }, 1_000, null],
  [1_000, { pending: 'ready' }, 1_000, null],
  [1_001, { pending: 'delayed' }, 1_001, 1_001],
] as const) {
  test(`a job created at 1000 with not_before ${notBefore} is enqueued at ${enqueuedAt}`, (t) => {
    const { value, context } = newJob({ notBefore });
    t.deepEqual(value, state);
    t.is(context.enqueuedAt, enqueuedAt);
    t.is(context.delayedUntil, delayedUntil);
  });
}

test('a job that becomes due keeps its place and waits for no time any more', (t) => {
  const { context } = after(newJob({ notBefore: 5_000 }), make.due);
  t.is(context.enqueuedAt, 5_000);
  t.is(context.delayedUntil, null);
});

test('an assignment opens attempt 1 with lease 1 and says in the route why', (t) => {
  const { context } = active;
  t.is(context.lease, 1);
  t.is(context.startedAt, 1_100);
  t.deepEqual(context.attempts, [
    {
      number: 1,
      lease: 1,
      workerId: 'w1',
      provider: 'a',
      model: null,
      startedAt: 1_100,
      finishedAt: null,
      outcome: null,
      error: null,
      usage: null,
      cost: noCost,
    },
  ]);
  t.deepEqual(context.route, [
    { provider: 'a', model: null, workerId: 'w1', outcome: 'chosen', why: 'first free worker', at: 1_100 },
  ]);
});

interface Ending {
  event: Make;
  outcome: AttemptOutcome;
  /** Whether the job itself has ended with it. */
  ends: boolean;
  errorCode?: string;
}

/** Every way in which an attempt ends. */
const endings: Record<string, Ending> = {
  'a result': { event: make.completed(), outcome: 'completed', ends: true },
  'a failure for good': {
    event: make.failed('invalid_request'),
    outcome: 'failed',
    ends: true,
    errorCode: 'invalid_request',
  },
  'a failure with a next provider': {
    event: make.failed('unknown', { next: b }),
    outcome: 'failed',
    ends: false,
  },
  'a fault of its worker': { event: make.failed('network'), outcome: 'failed', ends: false },
  'a failure that may pass': { event: make.failed('overloaded'), outcome: 'failed', ends: false },
  'a limit that is waited out': { event: make.failed('rate_limited'), outcome: 'rate_limited', ends: false },
  'a limit that ends the job': {
    event: make.failed('rate_limited', { rules: { ...rules, maxRateLimitRetries: null } }),
    outcome: 'rate_limited',
    ends: true,
    errorCode: 'rate_limited',
  },
  'a cancel': { event: make.cancelled, outcome: 'cancelled', ends: true },
  'the timeout of the job': {
    event: make.timedOut(),
    outcome: 'timed_out',
    ends: true,
    errorCode: 'job_timeout',
  },
  'the reaper': { event: make.reaped(), outcome: 'reaped', ends: false },
  'the word that it is not run': { event: make.reaped('lost'), outcome: 'lost', ends: false },
  'the last reap': {
    event: make.reaped('reaped', { maxReaps: 0 }),
    outcome: 'reaped',
    ends: true,
    errorCode: 'worker_lost',
  },
  'a release': { event: make.released, outcome: 'released', ends: false },
};

for (const [how, { event, outcome, ends, errorCode }] of Object.entries(endings)) {
  for (const [where, job] of [
    ['connected', active],
    ['lost', after(active, make.workerLost)],
  ] as const) {
    test(`an attempt whose worker is ${where} ends by ${how} as ${outcome}`, (t) => {
      const { context } = after(job, event);
      const at = job.context.updatedAt + 100;
      t.is(context.attempts.length, 1);
      t.is(context.attempts[0]?.outcome, outcome);
      t.is(context.attempts[0]?.finishedAt, at);
      t.is(context.updatedAt, at);
      t.is(context.startedAt, ends ? 1_100 : null, 'a job that waits has not started');
      t.is(context.finishedAt, ends ? at : null);
      t.is(context.enqueuedAt, 1_000);
      t.is(context.lease, 1);
      t.is(context.error?.code, errorCode);
      t.is(context.result, outcome === 'completed' ? result : null);
    });
  }
}

test('usage and cost of a failed attempt stand on the attempt', (t) => {
  const spent = { usage: usageOf(3), cost: dollar };
  for (const event of [
    make.completed(spent),
    make.failed('auth', spent),
    make.failed('rate_limited', spent),
  ]) {
    const [attempt] = after(active, event).context.attempts;
    t.like(attempt, spent);
  }
});

test('what was not used costs nothing: a cancel before and while running, and a release', (t) => {
  t.deepEqual(after(newJob(), make.cancelled).context.attempts, []);
  for (const event of [make.cancelled, make.released])
    t.is(after(active, event).context.attempts[0]?.cost, noCost);
});

test('a job that workers give back again and again fails the hundredth time; a retry counts anew', (t) => {
  const release = (job: JobSnapshot) => after(job, make.assigned, make.released);
  let job = newJob();
  for (let times = 1; times < 100; times += 1) job = release(job);
  t.deepEqual(job.value, { pending: 'ready' });
  job = release(job);
  t.is(job.value, 'failed');
  t.like(job.context, { reapCount: 0, finishedAt: job.context.updatedAt });
  t.like(job.context.error, { class: 'worker_lost', code: 'released_too_often' });
  t.is(job.context.attempts.length, 100);
  t.true(job.context.attempts.every(({ outcome, cost }) => outcome === 'released' && cost === noCost));
  job = release(after(job, make.retried()));
  t.deepEqual(job.value, { pending: 'ready' });
  t.is(job.context.error, null);
});

test('a job cancelled while it waits has not started, whatever was tried before', (t) => {
  const { context } = after(active, make.failed('server_error'), make.cancelled);
  t.is(context.startedAt, null);
  t.is(context.delayedUntil, null);
  t.is(context.finishedAt, context.updatedAt);
  t.is(context.error, null);
});

test('a failed attempt and its error stand in the route', (t) => {
  const { context } = after(
    active,
    make.failed('unknown', { next: b, error: failure('unknown', 'x'.repeat(400)) }),
  );
  const step = context.route.at(-1);
  t.like(step, { provider: 'a', model: null, workerId: 'w1', outcome: 'failed', at: context.updatedAt });
  t.is(step?.why, `unknown: ${'x'.repeat(291)}`);
  t.is(context.attempts[0]?.error?.message.length, 400);
});

test('a failure that may pass is tried again three times at one provider, later, then the next one is asked', (t) => {
  const fails = make.failed('overloaded', { next: b, retryAt: 9_000 });
  const again = after(newJob({ chain: [b] }), make.assigned, fails);
  t.is(again.context.delayedUntil, 9_000);
  t.deepEqual(again.context.target, a);
  const third = after(again, make.due, make.assigned, fails, make.due, make.assigned, fails);
  t.deepEqual(third.value, { pending: 'ready' });
  t.deepEqual(third.context.target, b);
  t.deepEqual(third.context.chain, []);
  t.is(third.context.delayedUntil, null);
  t.deepEqual(third.context.tallies, { a: { transient: 3, rateLimited: 0 } });
});

test('a limit burns no attempt of those that a provider gets, and is waited out max_retries times', (t) => {
  const twice = after(active, make.failed('rate_limited'), make.assigned, make.failed('rate_limited'));
  t.deepEqual(twice.value, { pending: 'ready' });
  t.deepEqual(twice.context.tallies, { a: { transient: 0, rateLimited: 2 } });
  t.is(after(twice, make.assigned, make.failed('rate_limited')).value, 'failed');
});

test('a provider is counted by its own name, also when every object has a property of that name', (t) => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    const { context, value } = after(
      newJob({ target: targetOf(name) }),
      make.assigned,
      make.failed('overloaded'),
    );
    t.deepEqual(value, { pending: 'delayed' });
    t.deepEqual(Object.entries(context.tallies), [[name, { transient: 1, rateLimited: 0 }]]);
  }
});

test('the chain loses the member that is next; one that was skipped stays to be tried', (t) => {
  const job = after(newJob({ chain: [b, c] }), make.assigned);
  t.deepEqual(after(job, make.failed('auth', { next: b })).context.chain, [c]);
  t.deepEqual(after(job, make.failed('auth', { next: c })).context.chain, [b]);
});

test('a member that answered 429 stays in the chain while it may be waited for', (t) => {
  const job = after(newJob({ chain: [b] }), make.assigned, make.failed('rate_limited', { next: b }));
  t.deepEqual([job.context.target, job.context.chain], [b, [a]]);
  const back = after(job, make.assigned, make.failed('model_not_found', { next: a }));
  t.deepEqual([back.context.target, back.context.chain], [a, []]);
});

test('a member that answered 429 counts as tried with no rate_limit, and after max_retries', (t) => {
  const unlimited = { ...rules, maxRateLimitRetries: null };
  const job = after(
    newJob({ chain: [b] }),
    make.assigned,
    make.failed('rate_limited', { next: b, rules: unlimited }),
  );
  t.deepEqual(job.context.chain, []);
  const limit = (next: typeof a) =>
    make.failed('rate_limited', { next, rules: { ...rules, maxRateLimitRetries: 1 } });
  const once = after(newJob({ chain: [b] }), make.assigned, limit(b), make.assigned, limit(a));
  t.deepEqual(once.context.chain, [b], 'each may be waited for once');
  t.deepEqual(after(once, make.assigned, limit(b)).context.chain, [], 'a had its retry');
});

test('a job whose worker lost its key fails with that, whatever could be tried next', (t) => {
  const { context, value } = after(newJob({ chain: [b] }), make.assigned, make.keyRevoked);
  t.is(value, 'failed');
  t.like(context.error, { class: 'auth', code: 'authentication_failed', status: 401 });
  t.like(context.attempts[0], { outcome: 'failed', usage: null });
  t.like(context.route.at(-1), { outcome: 'failed', workerId: 'w1' });
  t.is(context.finishedAt, context.updatedAt);
});

test('the route keeps the newest 100 decisions', (t) => {
  const steps = Array.from({ length: 150 }, (_, at) => ({
    ...{ provider: 'a', model: null, workerId: null, outcome: 'skipped' as const, why: 'open' },
    at,
  }));
  const assigned = (life: JobLife) => ({ ...make.assigned(life), skipped: steps }) as JobEvent;
  const { route } = after(newJob(), assigned).context;
  t.deepEqual(
    [route.length, route[0]?.at, route.at(-2)?.at, route.at(-1)?.outcome],
    [100, 51, 149, 'chosen'],
  );
});

test('a worker that is lost and comes back leaves two turns and the time of the last change', (t) => {
  const { context } = after(active, make.workerLost, make.workerReturned);
  t.deepEqual(context, {
    ...active.context,
    updatedAt: 1_300,
    turns: [
      { at: 1_200, lease: 1, event: 'job.workerLost', to: 'running.stuck' },
      { at: 1_300, lease: 1, event: 'job.workerReturned', to: 'running.active' },
    ],
  });
});
