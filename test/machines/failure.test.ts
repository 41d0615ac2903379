import test from 'ava';
import {
  type ErrorClass,
  errorClasses,
  type FailureRules,
  failureOf,
  jobTimeout,
  mayWaitForLimit,
  type ReportedFailure,
  tripsBreaker,
  type Verdict,
  verdictOn,
  workerKeyRevoked,
  workerLost,
} from '../../src/domain/failure.ts';

interface Row {
  /** With a next member of the chain, and without one. */
  first: [Verdict, Verdict];
  /** After three failures at this provider that may pass. */
  tried: [Verdict, Verdict];
  /** After as many 429 as there may be retries. */
  limited: [Verdict, Verdict];
  /** With `fallback_on_timeout` off. */
  noFallback: [Verdict, Verdict];
  /** With no `rate_limit` configured for the provider. */
  noLimit: [Verdict, Verdict];
  breaker: boolean;
}

const same = (row: [Verdict, Verdict], breaker: boolean): Row => ({
  first: row,
  tried: row,
  limited: row,
  noFallback: row,
  noLimit: row,
  breaker,
});
const nextOrFail = same(['next', 'fail'], false);
const hopeless = same(['fail', 'fail'], false);
const transient: Row = { ...same(['again', 'again'], true), tried: ['next', 'fail'] };

/** "When an attempt fails: the error class decides." */
const table: Record<ErrorClass, Row> = {
  rate_limited: { ...same(['next', 'wait'], false), limited: ['next', 'fail'], noLimit: ['next', 'fail'] },
  quota_exhausted: nextOrFail,
  auth: nextOrFail,
  overloaded: transient,
  server_error: transient,
  network: transient,
  model_not_found: nextOrFail,
  model_not_loaded: nextOrFail,
  context_overflow: hopeless,
  content_filtered: hopeless,
  invalid_request: hopeless,
  timeout: { ...nextOrFail, noFallback: ['fail', 'fail'] },
  unknown: nextOrFail,
  worker_lost: nextOrFail,
};

const rules: FailureRules = { maxAttempts: 3, maxRateLimitRetries: 5, fallbackOnTimeout: true };
const situations = {
  first: [{ transient: 0, rateLimited: 0 }, rules],
  tried: [{ transient: 2, rateLimited: 0 }, rules],
  limited: [{ transient: 0, rateLimited: 5 }, rules],
  noFallback: [
    { transient: 0, rateLimited: 0 },
    { ...rules, fallbackOnTimeout: false },
  ],
  noLimit: [
    { transient: 0, rateLimited: 0 },
    { ...rules, maxRateLimitRetries: null },
  ],
} as const;

for (const errorClass of errorClasses) {
  for (const [name, [tally, given]] of Object.entries(situations)) {
    const [withNext, alone] = table[errorClass][name as keyof typeof situations];
    test(`${errorClass} (${name}): ${withNext} when there is a next provider, ${alone} when there is none`, (t) => {
      t.is(verdictOn(errorClass, tally, given, true), withNext);
      t.is(verdictOn(errorClass, tally, given, false), alone);
    });
  }

  test(`${errorClass} ${table[errorClass].breaker ? 'counts' : 'does not count'} for the breaker`, (t) => {
    t.is(tripsBreaker(errorClass), table[errorClass].breaker);
  });
}

test('a failure that may pass is tried until max_attempts, the first included', (t) => {
  const verdicts = [0, 1, 2, 3].map((failed) =>
    verdictOn('network', { transient: failed, rateLimited: 9 }, { ...rules, maxAttempts: 3 }, false),
  );
  t.deepEqual(verdicts, ['again', 'again', 'fail', 'fail']);
  t.is(verdictOn('network', situations.first[0], { ...rules, maxAttempts: 1 }, true), 'next');
});

test('a limit is waited out max_retries times, whatever else failed', (t) => {
  const waits = [0, 1, 2].map((rateLimited) =>
    mayWaitForLimit({ transient: 9, rateLimited }, { ...rules, maxRateLimitRetries: 2 }),
  );
  t.deepEqual(waits, [true, true, false]);
  t.false(mayWaitForLimit({ transient: 0, rateLimited: 0 }, { ...rules, maxRateLimitRetries: 0 }));
});

function reported(errorClass: ErrorClass, fields: Partial<ReportedFailure> = {}): ReportedFailure {
  return { class: errorClass, message: 'sorry', status: null, code: null, retryAfterMs: null, ...fields };
}

/** Class, the spec's words, and the status and code that fit when the worker named none. */
const words: [ErrorClass, string, number | null, string][] = [
  ['rate_limited', '429 Too Many Requests: Rate limit exceeded', 429, 'rate_limited'],
  ['auth', '401 Unauthorized: Authentication failed', 401, 'authentication_failed'],
  ['model_not_found', 'Model not found', 404, 'model_not_found'],
  ['model_not_loaded', 'No model loaded', 503, 'model_not_loaded'],
];

for (const [errorClass, prefix, status, code] of words) {
  test(`a ${errorClass} failure reads "${prefix}"`, (t) => {
    t.deepEqual(failureOf(reported(errorClass)), {
      class: errorClass,
      code,
      message: `${prefix}: sorry`,
      status,
    });
  });

  test(`a message that has the words of ${errorClass} keeps them as they stand`, (t) => {
    const message = `openai: ${prefix} for this key`;
    t.is(failureOf(reported(errorClass, { message })).message, message);
  });
}

for (const errorClass of errorClasses.filter((each) => !words.some(([own]) => own === each))) {
  test(`a ${errorClass} failure keeps its worker's message`, (t) => {
    t.deepEqual(failureOf(reported(errorClass)), {
      class: errorClass,
      code: errorClass,
      message: 'sorry',
      status: null,
    });
  });
}

test('what the provider answered goes before what would fit', (t) => {
  for (const errorClass of errorClasses) {
    const { status, code } = failureOf(reported(errorClass, { status: 418, code: 'teapot' }));
    t.deepEqual([status, code], [418, 'teapot']);
  }
});

test('the failures that the coordinator itself finds say what happened', (t) => {
  t.like(jobTimeout(1_500), { class: 'timeout', code: 'job_timeout', status: null });
  t.regex(jobTimeout(1_500).message, /\b1\.5 s\b/);
  t.like(workerLost(4), { class: 'worker_lost', code: 'worker_lost', status: null });
  t.regex(workerLost(4).message, /\b4 times\b/);
  t.like(workerKeyRevoked(), { class: 'auth', code: 'authentication_failed', status: 401 });
  t.regex(workerKeyRevoked().message, /^401 Unauthorized: Authentication failed\b/);
});
