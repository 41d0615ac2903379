import test from 'ava';
import {
  type ErrorClass,
  errorClasses,
  type FailureRules,
  failureOf,
  faultOf,
  jobTimeout,
  mayWaitForLimit,
  modelLoadingCode,
  type ReportedFailure,
  type Situation,
  tripsBreaker,
  type Verdict,
  verdictOn,
  workerKeyRevoked,
  workerLost,
} from '../../src/domain/failure.ts';

/** By situation: with a next member of the chain, and without one. */
interface Row {
  first: [Verdict, Verdict];
  /** After three failures at this provider that may pass. */
  tried: [Verdict, Verdict];
  /** After as many 429 as there may be retries. */
  limited: [Verdict, Verdict];
  /** With `fallback_on_timeout` off. */
  noFallback: [Verdict, Verdict];
  /** With no `rate_limit` configured for the provider. */
  noLimit: [Verdict, Verdict];
  /** While another worker of the provider is well. */
  others: [Verdict, Verdict];
  /** The same after three failures, all of them of this worker; and when another worker has failed at it too. */
  othersLast: [Verdict, Verdict];
  othersToo: [Verdict, Verdict];
  /** While another worker waits until it reaches its provider again. */
  waiting: [Verdict, Verdict];
  breaker: boolean;
}

const same = (row: [Verdict, Verdict], breaker: boolean): Row => ({
  first: row,
  tried: row,
  limited: row,
  noFallback: row,
  noLimit: row,
  others: row,
  othersLast: row,
  othersToo: row,
  waiting: row,
  breaker,
});
const elsewhere: [Verdict, Verdict] = ['elsewhere', 'elsewhere'];
const nextOrFail = same(['next', 'fail'], false);
/** The provider of this worker alone. */
const workers = {
  ...nextOrFail,
  others: elsewhere,
  othersLast: elsewhere,
  othersToo: elsewhere,
  waiting: elsewhere,
};
const hopeless = same(['fail', 'fail'], false);
const transient: Row = {
  ...same(['again', 'again'], true),
  tried: ['next', 'fail'],
  othersToo: ['next', 'fail'],
};
/** One more worker is tried, within `max_attempts`. */
const unsure: Row = { ...nextOrFail, others: elsewhere };

/** "When an attempt fails: the error class decides." */
const table: Record<ErrorClass, Row> = {
  rate_limited: { ...same(['next', 'wait'], false), limited: ['next', 'fail'], noLimit: ['next', 'fail'] },
  quota_exhausted: workers,
  auth: workers,
  overloaded: transient,
  server_error: transient,
  network: same(elsewhere, false),
  model_not_found: workers,
  model_not_loaded: workers,
  context_overflow: hopeless,
  content_filtered: hopeless,
  invalid_request: hopeless,
  timeout: { ...unsure, noFallback: ['fail', 'fail'] },
  unknown: unsure,
  worker_lost: nextOrFail,
  // Only the rules of a run ask again, see below.
  invalid_output: hopeless,
};

const rules: FailureRules = { maxAttempts: 3, maxRateLimitRetries: 5, fallbackOnTimeout: true };
const none = { able: false, untried: false };
const well = { able: true, untried: true };
const plain = { tally: { transient: 0, rateLimited: 0 }, rules, others: none, isOfOneWorker: true };
const after2 = { ...plain, tally: { transient: 2, rateLimited: 0 } };
const situations: Record<Exclude<keyof Row, 'breaker'>, Omit<Situation, 'fault' | 'hasNext'>> = {
  first: plain,
  tried: after2,
  limited: { ...plain, tally: { transient: 0, rateLimited: 5 } },
  noFallback: { ...plain, rules: { ...rules, fallbackOnTimeout: false } },
  noLimit: { ...plain, rules: { ...rules, maxRateLimitRetries: null } },
  others: { ...plain, others: well },
  othersLast: { ...after2, others: well },
  othersToo: { ...after2, others: well, isOfOneWorker: false },
  waiting: { ...plain, others: { able: true, untried: false } },
};

const faultIn = (errorClass: ErrorClass) => faultOf(failureOf(reported(errorClass)), false);

for (const errorClass of errorClasses) {
  for (const [name, situation] of Object.entries(situations)) {
    const [withNext, alone] = table[errorClass][name as keyof typeof situations];
    test(`${errorClass} (${name}): ${withNext} when there is a next provider, ${alone} when there is none`, (t) => {
      const fault = faultIn(errorClass);
      t.is(verdictOn(errorClass, { ...situation, fault, hasNext: true }), withNext);
      t.is(verdictOn(errorClass, { ...situation, fault, hasNext: false }), alone);
    });
  }

  test(`${errorClass} ${table[errorClass].breaker ? 'counts' : 'does not count'} for the breaker`, (t) => {
    t.is(tripsBreaker(errorClass, faultIn(errorClass)), table[errorClass].breaker);
  });
}

test('a failure that may pass is tried until max_attempts, the first included', (t) => {
  const after = (failed: number, maxAttempts: number, others = none): Verdict =>
    verdictOn('server_error', {
      ...plain,
      fault: 'failing',
      tally: { transient: failed, rateLimited: 9 },
      rules: { ...rules, maxAttempts },
      hasNext: false,
      others,
    });
  t.deepEqual(
    [0, 1, 2, 3].map((failed) => after(failed, 3)),
    ['again', 'again', 'fail', 'fail'],
  );
  t.deepEqual(
    [2, 4, 5].map((failed) => after(failed, 3, well)),
    ['again', 'again', 'fail'],
    'one worker alone is no proof against the job while another is well',
  );
  t.is(after(0, 1, well), 'fail', 'max_attempts of 1 runs nothing twice');
});

test('a network failure is the worker’s before the provider was reached, and may be the job’s afterwards', (t) => {
  const network = (fields: Partial<ReportedFailure>) => failureOf(reported('network', fields));
  t.is(faultOf(network({ message: 'connect ECONNREFUSED' }), false), 'unreachable');
  t.is(faultOf(network({ code: 'ECONNREFUSED' }), false), 'unreachable');
  for (const fields of [{ code: 'ECONNRESET' }, { code: 'connection_broken' }, { status: 502 }]) {
    t.is(faultOf(network(fields), false), 'failing');
    t.true(tripsBreaker('network', faultOf(network(fields), false)));
  }
  t.is(faultOf(network({ code: 'ECONNREFUSED' }), true), 'failing');
});

test('a model that loads is waited for, whoever else could take the job', (t) => {
  const failure = failureOf(reported('model_not_loaded', { code: modelLoadingCode }));
  const fault = faultOf(failure, false);
  t.is(fault, 'loading');
  t.is(verdictOn(failure.class, { ...plain, fault, hasNext: false }), 'elsewhere');
  t.regex(failure.message, /^No model loaded/);
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

test('an answer that is not what a run demands is asked for again as often as the run says', (t) => {
  const situation = { ...plain, fault: null, hasNext: true, rules: { ...rules, outputRetries: 2 } };
  const after = (transient: number) =>
    verdictOn('invalid_output', { ...situation, tally: { transient, rateLimited: 0 } });
  t.deepEqual([0, 1, 2, 3].map(after), ['again', 'again', 'fail', 'fail']);
});
