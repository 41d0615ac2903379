import test from 'ava';
import fc from 'fast-check';
import {
  type AttemptEnd,
  type AttemptWindow,
  emptyWindow,
  endsOf,
  windowSizeMax,
  withEnd,
} from '../../machines/attemptWindow.ts';
import { mayOpen, windowAt } from '../../machines/providerBreaker.ts';
import {
  allowanceOf,
  beginLife,
  ceilingOf,
  holdOf,
  letsMore,
  type Of,
  type ProviderLife,
  restoreLife,
} from '../../machines/providerLife.ts';
import type { BreakerSettings, ProviderHold, ProviderRules } from '../../src/domain/provider.ts';
import {
  breaker,
  newProvider,
  type ProviderSnapshot,
  provider,
  providerAfter,
  providersInEveryState,
  rateLimit,
  refused,
} from './fleet.ts';

const rules: ProviderRules = { rateLimit, breaker };
const noLimit: ProviderRules = { rateLimit: null, breaker };

/** A 429 at 0 that asks for so long. */
const limited = (askedMs: number | null, jitter = 0, settings = rules) =>
  ({ type: 'provider.limited', at: 0, askedMs, jitter, underWay: 1, rules: settings }) as const;
const untilAfter = (snapshot: ProviderSnapshot, event: Of<'provider.limited'>) =>
  providerAfter(snapshot, event).context.until;

test('a limit is remembered with its end, and each one in a row is counted', (t) => {
  const once = providerAfter(newProvider(), provider.limited(1_000, 10));
  t.deepEqual(once.context, {
    ...beginLife({ name: 'openai', at: 10 }),
    until: 1_000,
    limitsInRow: 1,
    beside: 0,
  });
  const again = providerAfter(once, provider.due, provider.probeSent, provider.limited(9_000, 50));
  t.like(again.context, {
    until: 9_000,
    limitsInRow: 2,
    probeSent: false,
    probingSince: null,
    changedAt: 50,
  });
});

test('a limit is for as long as was asked for, else twice as long each time, and never longer than may be', (t) => {
  t.is(untilAfter(newProvider(), limited(7_000)), 7_000);
  t.is(untilAfter(newProvider(), limited(999_000)), 300_000);
  t.is(untilAfter(newProvider(), limited(7_000, 0.5)), 7_350);
  let now = newProvider();
  const seconds: number[] = [];
  for (let times = 0; times < 5; times += 1) {
    now = providerAfter(now, limited(null));
    seconds.push((now.context.until ?? 0) / 1_000);
    now = providerAfter(now, provider.due);
  }
  t.deepEqual(seconds, [30, 60, 120, 240, 300]);
  t.is(untilAfter(newProvider(), limited(null, 0, noLimit)), 30_000);
  t.is(untilAfter(newProvider(), limited(400_000, 0, noLimit)), 300_000);
});

test('answers 429 of the same burst only make a limit longer', (t) => {
  const { context } = providerAfter(newProvider(), provider.limited(1_000, 10), provider.limited(2_000, 11));
  t.like(context, { until: 2_000, limitsInRow: 1, changedAt: 10 });
});

test('a breaker that opens is remembered with its end and its cause, and each opening in a row is counted', (t) => {
  const open = providerAfter(newProvider(), provider.failed());
  t.like(open.context, { until: 520, opensInRow: 1, limitsInRow: 0, changedAt: 20, cause: refused });
  const again = providerAfter(open, provider.due, provider.probeSent, provider.failed({}, [], 900));
  t.like(again.context, {
    until: 1_400,
    opensInRow: 2,
    probeSent: false,
    probingSince: null,
    changedAt: 900,
  });
});

test('what failed before and while the breaker is open is not its cause', (t) => {
  const other = {
    ...(provider.failed({ minimum: 9 }) as Of<'provider.failed'>),
    failure: { ...refused, message: 'x' },
  };
  t.is(providerAfter(newProvider(), other).context.cause, null);
  t.is(providerAfter(newProvider(), provider.failed(), other).context.cause?.message, refused.message);
});

/** The provider after attempts of worker 1, `!` for a failure, a millisecond apart. */
function attempts(word: string, settings: Partial<BreakerSettings>, ableWorkers: string[] = []) {
  return [...word].reduce(
    (now, end, at) =>
      providerAfter(
        now,
        end === '!'
          ? provider.failed(settings, ableWorkers, at)
          : { ...provider.succeeded, at, monotonic: at, workerId: end },
      ),
    newProvider(),
  );
}

test('the breaker opens at its minimum of attempts and at its ratio, not before', (t) => {
  const is = (word: string, settings: Partial<BreakerSettings>) => attempts(word, settings).value;
  t.is(is('!!!', { minimum: 4 }), 'available');
  t.is(is('!!!!', { minimum: 4 }), 'open');
  t.is(is('aa!', { minimum: 2, ratio: 0.5 }), 'available');
  t.is(is('aa!!', { minimum: 2, ratio: 0.5 }), 'open');
  t.is(is('aaa!!', { minimum: 2, ratio: 0.5 }), 'available');
});

test('the breaker stays closed while a worker is left at which fewer attempts fail', (t) => {
  const settings = { minimum: 3, ratio: 0.5 };
  t.is(attempts('b!!!', settings, []).value, 'open');
  t.is(attempts('b!!!', settings, ['w1']).value, 'open');
  t.is(attempts('b!!!', settings, ['w1', 'b']).value, 'available');
  t.is(attempts('!!!', settings, ['never asked']).value, 'available');
  t.is(attempts('!!!', { ...settings, ratio: 0 }, ['w1']).value, 'open');
});

test('which workers are well matters only where a failure could open the breaker', (t) => {
  const failed = provider.failed({ minimum: 2 }) as Of<'provider.failed'>;
  t.false(mayOpen(newProvider().context, failed));
  t.true(mayOpen(providerAfter(newProvider(), failed).context, failed));
  const few = provider.failed({ minimum: 99 }) as Of<'provider.failed'>;
  t.true(mayOpen(providerAfter(newProvider(), provider.failed()).context, few));
});

test('in every state the ends of attempts are counted', (t) => {
  for (const [name, snapshot] of Object.entries(providersInEveryState())) {
    const { attempts: before, failed } = snapshot.context.window;
    const after = providerAfter(snapshot, provider.succeeded, provider.failed({ minimum: 99 }, ['w2'], 31));
    t.like(after.context.window, { attempts: before + 2, failed: failed + 1 }, name);
  }
});

test('a window has the ends of its time, the newest thousand at most, as a plain list would', (t) => {
  const model = (ends: readonly AttemptEnd[], end: AttemptEnd, windowMs: number): AttemptEnd[] =>
    [...ends, end].slice(-windowSizeMax).filter(({ at }) => at > end.at - windowMs);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(40), fc.boolean()), { maxLength: 300 }),
      fc.integer({ min: 1, max: 3_000 }),
      fc.nat(1_200),
      (steps, windowMs, burst) => {
        let now = 0;
        let window: AttemptWindow = emptyWindow;
        let expected: AttemptEnd[] = [];
        const add = (end: AttemptEnd) => {
          window = withEnd(window, end, windowMs);
          expected = model(expected, end, windowMs);
        };
        for (let index = 0; index < burst; index += 1) add({ at: 0, failed: index % 3 === 0, workerId: 'b' });
        for (const [gap, failed] of steps) {
          now += gap;
          add({ at: now, failed, workerId: `w${gap}` });
        }
        t.deepEqual(endsOf(window), expected);
        t.is(window.attempts, expected.length);
        t.is(window.failed, expected.filter(({ failed }) => failed).length);
      },
    ),
    { numRuns: 60 },
  );
});

test('what a window shows is that of its time now', (t) => {
  const { context } = providerAfter(newProvider(), provider.failed({ minimum: 9 }), provider.succeeded);
  const at = (monotonic: number) => windowAt(context, { ...breaker, windowSeconds: 1 }, monotonic);
  t.deepEqual(at(30), { attempts: 2, failed: 1 });
  t.deepEqual(at(1_020), { attempts: 1, failed: 0 });
  t.deepEqual(at(1_030), { attempts: 0, failed: 0 });
});

test('a probe is one job, and the next one is the probe when it came back without a verdict', (t) => {
  const probing = providerAfter(newProvider(), provider.limited(), provider.due);
  t.like(probing.context, { until: null, probeSent: false, probingSince: 40, limitsInRow: 1 });
  t.is(allowanceOf('probing', probing.context, rules), 1);
  const sent = providerAfter(probing, provider.probeSent);
  t.is(allowanceOf('probing', sent.context, rules), 0);
  t.is(allowanceOf('probing', providerAfter(sent, provider.probeReturned()).context, rules), 1);
  t.is(allowanceOf('probing', providerAfter(sent, provider.failed({ minimum: 9 })).context, rules), 1);
});

test('a worker that comes to an open provider begins the probe at once', (t) => {
  const came = providerAfter(newProvider(), provider.failed(), provider.workerCame);
  t.like(came.context, { until: null, probeSent: false, probingSince: 45, changedAt: 45, opensInRow: 1 });
});

test('nothing is sent while open; a limit stops nothing where none is configured', (t) => {
  const any = Number.POSITIVE_INFINITY;
  const life = newProvider().context;
  t.is(allowanceOf('available', life, rules), any);
  t.is(allowanceOf('limited', life, rules), 0);
  t.is(allowanceOf('limited', life, noLimit), any);
  t.is(allowanceOf('open', life, noLimit), 0);
  t.is(allowanceOf('probing', life, noLimit), any);
  t.is(allowanceOf('probing', { ...life, opensInRow: 1 }, noLimit), 1);
});

test('a provider that is back may have one request more than are under way, and one more with each that gets through', (t) => {
  const probing = providerAfter(newProvider(), provider.limited(), provider.due, provider.probeSent);
  for (const back of [provider.succeeded, provider.streamed()]) {
    const now = providerAfter(probing, back);
    t.is(ceilingOf(now.context, noLimit), 5);
    const more = providerAfter(now, provider.streamed(), provider.succeeded);
    t.is(ceilingOf(more.context, noLimit), 7);
    t.is(ceilingOf(more.context, { breaker, rateLimit: { ...rateLimit, maxConcurrent: 6 } }), 6);
  }
});

test('the slow return ends with a thousand requests, with a limit and with a reset', (t) => {
  let now = providerAfter(newProvider(), provider.limited(), provider.due, provider.succeeded);
  t.is(providerAfter(now, provider.limited(99_000)).context.ramp, null);
  t.is(providerAfter(now, provider.failed()).context.ramp, null);
  t.is(providerAfter(now, provider.reset).context.ramp, null);
  for (let more = 0; more < 994; more += 1) now = providerAfter(now, provider.succeeded);
  t.is(now.context.ramp, 999);
  now = providerAfter(now, provider.succeeded);
  t.is(now.context.ramp, null);
  t.is(ceilingOf(now.context, { breaker, rateLimit: { ...rateLimit, maxConcurrent: 3 } }), 3);
});

test('there is no slow return from a limit that stopped nothing', (t) => {
  const probing = providerAfter(newProvider(), provider.limited(), provider.due);
  const back = providerAfter(probing, { ...provider.succeeded, rules: noLimit });
  t.is(back.context.ramp, null);
  const open = providerAfter(newProvider(), provider.failed(), provider.due);
  t.is(providerAfter(open, { ...provider.succeeded, rules: noLimit }).context.ramp, 5);
});

test('a success after a probe, and a reset from everywhere, forget all trouble', (t) => {
  const fresh = {
    until: null,
    limitsInRow: 0,
    opensInRow: 0,
    cause: null,
    probeSent: false,
    probingSince: null,
  };
  const probed = providerAfter(newProvider(), provider.failed(), provider.due, provider.probeSent);
  for (const back of [provider.succeeded, provider.streamed()])
    t.like(providerAfter(probed, back).context, { ...fresh, changedAt: back.at });
  for (const snapshot of Object.values(providersInEveryState())) {
    t.deepEqual(
      providerAfter(snapshot, provider.reset).context,
      beginLife({ name: 'openai', at: provider.reset.at }),
    );
  }
});

test('a success of an available provider forgives what was in a row', (t) => {
  const life = { ...newProvider().context, limitsInRow: 3, opensInRow: 2, cause: refused };
  const snapshot = { ...newProvider(), context: life } as ProviderSnapshot;
  t.like(providerAfter(snapshot, provider.succeeded).context, {
    limitsInRow: 0,
    opensInRow: 0,
    cause: null,
  });
});

const hold: ProviderHold = {
  name: 'openai',
  status: 'limited',
  until: 90_000,
  changedAt: 1_000,
  limitsInRow: 3,
  opensInRow: 0,
  cause: null,
};

test('what is stored of a provider restores it, and workers that come back end nothing', (t) => {
  for (const [status, event] of [
    ['limited', provider.limited()],
    ['open', provider.failed()],
  ] as const) {
    const { context } = providerAfter(newProvider(), event);
    const stored = holdOf(status, context);
    const restored = stored === null ? null : restoreLife(stored, rules, 100, 7_000);
    t.is(restored?.status, status);
    t.deepEqual(restored?.life, { ...context, beside: null, window: emptyWindow, returnsUntil: 7_000 });
  }
  t.is(holdOf('available', newProvider().context), null);
  t.is(holdOf('probing', providerAfter(newProvider(), provider.limited(), provider.due).context), null);
});

test('a hold is restored for as long as it could be now at most, and not when it ended long ago', (t) => {
  const until = (stored: ProviderHold, at: number, settings = rules) =>
    restoreLife(stored, settings, at, 0)?.life.until ?? null;
  t.is(until(hold, 5_000), 90_000);
  t.is(until({ ...hold, until: 1e9 }, 5_000), 5_000 + 330_000);
  t.is(until({ ...hold, until: 1e9 }, 5_000, noLimit), 5_000 + 330_000);
  t.is(until({ ...hold, status: 'open' }, 5_000), 5_500);
  t.is(until(hold, 690_000), 90_000);
  t.is(until(hold, 690_001), null);
});

test('the first change of state ends the grace of workers that come back after a restart', (t) => {
  const life = restoreLife(hold, rules, 0, 7_000)?.life;
  const restored = { ...providerAfter(newProvider(), provider.limited()), context: life } as ProviderSnapshot;
  t.is(providerAfter(restored, provider.due).context.returnsUntil, null);
});

test('jobs that wait are looked at when a provider may have more, not at its every event', (t) => {
  const life = (snapshot: ProviderSnapshot): ProviderLife => snapshot.context;
  const fresh = newProvider();
  const held = providerAfter(fresh, provider.limited());
  const probing = providerAfter(held, provider.due);
  const sent = providerAfter(probing, provider.probeSent);
  const back = providerAfter(sent, provider.succeeded);
  const more = [
    [held, probing],
    [held, providerAfter(held, provider.reset)],
    [sent, providerAfter(sent, provider.probeReturned())],
    [probing, back],
    [back, providerAfter(back, provider.streamed())],
    [probing, providerAfter(probing, { ...provider.succeeded, rules: noLimit })],
  ] as const;
  for (const [before, now] of more) t.true(letsMore(life(before), life(now)));
  const notMore = [
    [fresh, providerAfter(fresh, provider.succeeded)],
    [fresh, held],
    [probing, sent],
    [probing, providerAfter(probing, provider.limited(9_000))],
    [held, providerAfter(held, provider.limited(9_000))],
  ] as const;
  for (const [before, now] of notMore) t.false(letsMore(life(before), life(now)));
});
