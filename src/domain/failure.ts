/** What went wrong with an attempt, and what a job may do next. */

/**
 * The classes that decide what happens next; a worker sorts every provider error into one of the first thirteen.
 * - `rate_limited`      the provider is limited: the job waits, it is not an error.
 * - `quota_exhausted`   no money or no daily quota left for this key.
 * - `auth`              the provider refuses the worker's key.
 * - `overloaded`, `server_error`, `network`   a fault of the provider or the network; may pass.
 * - `model_not_found`, `model_not_loaded`     this provider cannot run this model now.
 * - `context_overflow`, `content_filtered`, `invalid_request`   a fault of the job; a retry would not help.
 * - `timeout`           the provider did not answer in time, or the job's own deadline passed.
 * - `unknown`           anything else.
 * - `worker_lost`       the attempts' workers died too often.
 * - `invalid_output`    the answer is not what the job's run demands; the coordinator says so, not the worker.
 */
export const errorClasses = [
  'rate_limited',
  'quota_exhausted',
  'auth',
  'overloaded',
  'server_error',
  'network',
  'model_not_found',
  'model_not_loaded',
  'context_overflow',
  'content_filtered',
  'invalid_request',
  'timeout',
  'unknown',
  'worker_lost',
  'invalid_output',
] as const;
export type ErrorClass = (typeof errorClasses)[number];

/** Why a job or an attempt failed, as it is stored and shown. */
export interface Failure {
  class: ErrorClass;
  code: string;
  message: string;
  /** The HTTP status of the provider's answer, or a fitting one; null when there was none. */
  status: number | null;
}

/** A failure as a worker reports it. */
export interface ReportedFailure {
  class: ErrorClass;
  message: string;
  status: number | null;
  code: string | null;
  /** The delay that the provider asked for, milliseconds; null for none. */
  retryAfterMs: number | null;
}

interface Wording {
  pattern: RegExp;
  prefix: string;
  status: number;
  code: string;
}

/** The words that users of the service look for, prepended to a message that lacks them (spec, "Errors"). */
const words: Partial<Record<ErrorClass, Wording>> = {
  rate_limited: {
    pattern: /429 Too Many Requests: Rate limit exceeded/,
    prefix: '429 Too Many Requests: Rate limit exceeded',
    status: 429,
    code: 'rate_limited',
  },
  auth: {
    pattern: /401 Unauthorized: Authentication failed/,
    prefix: '401 Unauthorized: Authentication failed',
    status: 401,
    code: 'authentication_failed',
  },
  model_not_found: {
    pattern: /Model not found/,
    prefix: 'Model not found',
    status: 404,
    code: 'model_not_found',
  },
  model_not_loaded: {
    pattern: /No model loaded/,
    prefix: 'No model loaded',
    status: 503,
    code: 'model_not_loaded',
  },
};

/** The failure that a job shows for a worker's report: the worker's message, with the spec's words in front. */
export function failureOf(reported: ReportedFailure): Failure {
  const word = words[reported.class];
  const message =
    word && !word.pattern.test(reported.message) ? `${word.prefix}: ${reported.message}` : reported.message;
  return {
    class: reported.class,
    code: reported.code ?? word?.code ?? reported.class,
    message,
    status: reported.status ?? word?.status ?? null,
  };
}

/** A failure on one line, for people: its message and its class. */
export function lineOf({ class: errorClass, message }: Failure): string {
  return `${message.replaceAll(/\s+/g, ' ').trim()} (${errorClass})`;
}

/** The job's own deadline passed. */
export function jobTimeout(timeoutMs: number): Failure {
  return {
    class: 'timeout',
    code: 'job_timeout',
    message: `The job ran longer than its timeout of ${timeoutMs / 1000} s and was stopped`,
    status: null,
  };
}

/** The answer is not what the job's run demands. @param fault in a few words. */
export function invalidOutput(fault: string): ReportedFailure {
  return {
    class: 'invalid_output',
    code: 'invalid_output',
    message: `The answer ${fault}`,
    status: null,
    retryAfterMs: null,
  };
}

/** The job's workers died or went silent too often. */
export function workerLost(reapCount: number): Failure {
  return {
    class: 'worker_lost',
    code: 'worker_lost',
    message: `The worker was lost while running this job ${reapCount} times; it is not tried again by itself`,
    status: null,
  };
}

/** Several workers in a row gave the job back. */
export function releasedTooOften(times: number): Failure {
  return {
    class: 'worker_lost',
    code: 'released_too_often',
    message: `Workers took this job and gave it back ${times} times; it is not tried again by itself`,
    status: null,
  };
}

/** The key of the worker that ran the job was revoked (spec, "Authentication", 4). */
export function workerKeyRevoked(): Failure {
  return {
    class: 'auth',
    code: 'authentication_failed',
    message: "401 Unauthorized: Authentication failed: the key of the job's worker was revoked",
    status: 401,
  };
}

/** Whether it is the failure of `workerKeyRevoked`; a provider's refusal has only the class. */
export function isOfRevokedKey(failure: Failure | null): boolean {
  return failure?.message === workerKeyRevoked().message;
}

/** Characters of a message that is shown beside something else. */
const briefMax = 300;

/** A failure with the start of its message, for answers that list it. */
export function brief(failure: Failure): Failure {
  return { ...failure, message: failure.message.slice(0, briefMax) };
}

/**
 * What a failure says about its worker. The worker is set aside for the provider; with `loading`, `missing` and
 * `failing` only for the one model.
 * - `unreachable`  the worker cannot reach the provider: no request was made.
 * - `loading`      the provider is loading the model: nothing was run.
 * - `refused`      the provider refuses the worker's key, or the key has no quota left.
 * - `missing`      the provider of this worker does not have the model.
 * - `failing`      the provider failed at the job. The job may be the cause, so one failure is no proof.
 */
export const faults = ['unreachable', 'loading', 'refused', 'missing', 'failing'] as const;
export type Fault = (typeof faults)[number];

/** The connection broke before the answer was complete: the request itself may have caused that. */
const brokenCodes: readonly string[] = ['ECONNRESET', 'EPIPE', 'connection_broken'];
/** The code of a temporary `model_not_loaded`. */
export const modelLoadingCode = 'model_loading';

/** Also a peer whose answer is not HTTP: it was reached. */
function isBroken(code: string): boolean {
  return brokenCodes.includes(code) || code.startsWith('HPE_');
}

const faultByClass: Partial<Record<ErrorClass, Fault>> = {
  quota_exhausted: 'refused',
  auth: 'refused',
  overloaded: 'failing',
  server_error: 'failing',
  model_not_found: 'missing',
  model_not_loaded: 'missing',
  timeout: 'failing',
  unknown: 'failing',
};

/**
 * The worker's fault in a failure; null when the failure is the job's own, or a limit of the provider.
 * @param hasBegun whether output or usage of the attempt was reported: then the provider was reached.
 */
export function faultOf({ class: errorClass, code, status }: Failure, hasBegun: boolean): Fault | null {
  if (errorClass === 'network') {
    return hasBegun || status !== null || isBroken(code) ? 'failing' : 'unreachable';
  }
  if (errorClass === 'model_not_loaded' && code === modelLoadingCode) return 'loading';
  return faultByClass[errorClass] ?? null;
}

/** What is wrong with a worker at a provider, to follow its name: "box cannot reach vllm". */
export function faultText(of: { provider: string; model: string | null; fault: Fault }): string {
  const { provider, model, fault } = of;
  const what = model ?? 'the model';
  switch (fault) {
    case 'unreachable':
      return `cannot reach ${provider}`;
    case 'loading':
      return `waits until ${provider} has loaded ${what}`;
    case 'refused':
      return `has a key that ${provider} refuses`;
    case 'missing':
      return `does not have ${what} at ${provider}`;
    case 'failing':
      return `fails at ${model === null ? provider : `${model} of ${provider}`}`;
  }
}

/** The worker could not make a request at all. This passes without intervention, so jobs wait for it. */
export function isPassing(fault: Fault | null): boolean {
  return fault === 'unreachable' || fault === 'loading';
}

/** Nothing ran, so the attempt does not count against `max_attempts`. */
export function isUnrun(fault: Fault | null): boolean {
  return fault !== null && fault !== 'failing';
}

const transientClasses: readonly ErrorClass[] = ['overloaded', 'server_error', 'network'];
/** No other provider is tried: it would fail too. */
const hopelessClasses: readonly ErrorClass[] = ['context_overflow', 'content_filtered', 'invalid_request'];

/** Counts for the provider's circuit breaker. Faults of one worker do not: see `faultOf`. */
export function tripsBreaker(errorClass: ErrorClass, fault: Fault | null): boolean {
  return transientClasses.includes(errorClass) && !isPassing(fault);
}

/** The rules for judging a failed attempt. */
export interface FailureRules {
  /** Attempts allowed at one provider when its failures are transient, the first included. */
  maxAttempts: number;
  /** Retries after 429 from one provider; null when no `rate_limit` is configured for it. */
  maxRateLimitRetries: number | null;
  fallbackOnTimeout: boolean;
  /** Retries after an answer that is not what the job's run demands; absent: none. */
  outputRetries?: number;
}

/** The job's failures so far at one provider. */
export interface ProviderTally {
  /** Attempts that count against `maxAttempts`: all failures except 429 answers and attempts that never ran. */
  transient: number;
  /** Attempts that it answered with 429. */
  rateLimited: number;
}

/**
 * Whether to wait once more for a provider that answered 429.
 * @param tally failures at this provider before this one.
 */
export function mayWaitForLimit(tally: ProviderTally, rules: FailureRules): boolean {
  return rules.maxRateLimitRetries !== null && tally.rateLimited < rules.maxRateLimitRetries;
}

/** The other connected workers that fit the job at the provider of the failed attempt. */
export interface Others {
  /** Whether one may still take it: a healthy one, or one that only waits until it reaches its provider again. */
  able: boolean;
  /** Whether there is a healthy one on which this job has not failed yet. */
  untried: boolean;
}

/**
 * - `next`      the next member of the chain.
 * - `wait`      stay in the lane until the provider's limit ends; no attempt is spent.
 * - `elsewhere` back to the lane at once: another worker takes it, or it waits until one can.
 * - `again`     the same provider, after a back-off.
 * - `fail`      nothing left to try.
 */
export type Verdict = 'next' | 'wait' | 'elsewhere' | 'again' | 'fail';

/** What decides about a failed attempt, besides its error. */
export interface Situation {
  fault: Fault | null;
  /** The job's failures at this provider before this one. */
  tally: ProviderTally;
  rules: FailureRules;
  /** Whether the routing has another member. */
  hasNext: boolean;
  others: Others;
  /** Whether all failures of the job at this provider were on one worker. */
  isOfOneWorker: boolean;
}

/** Decide what follows a failed attempt. */
export function verdictOn(errorClass: ErrorClass, situation: Situation): Verdict {
  const { fault, tally, rules, hasNext, others } = situation;
  const nextOrFail = hasNext ? 'next' : 'fail';
  if (hopelessClasses.includes(errorClass)) return 'fail';
  if (errorClass === 'invalid_output') return tally.transient < (rules.outputRetries ?? 0) ? 'again' : 'fail';
  if (errorClass === 'rate_limited') {
    if (hasNext) return 'next';
    return mayWaitForLimit(tally, rules) ? 'wait' : 'fail';
  }
  if (isPassing(fault)) return 'elsewhere';
  if (isUnrun(fault)) return others.able ? 'elsewhere' : nextOrFail;
  if (transientClasses.includes(errorClass)) return mayTryAgain(situation) ? 'again' : nextOrFail;
  if (errorClass === 'timeout' && !rules.fallbackOnTimeout) return 'fail';
  const isTriedOn = fault === 'failing' && others.untried;
  return isTriedOn && tally.transient + 1 < rules.maxAttempts ? 'elsewhere' : nextOrFail;
}

/**
 * A job that has failed on only one worker gets up to as many attempts again while another one is healthy: it prefers
 * that one, and returns to the first only when the other has no free slot. With `max_attempts: 1` nothing runs twice.
 */
function mayTryAgain({ tally, rules: { maxAttempts }, others, isOfOneWorker }: Situation): boolean {
  const attempts = tally.transient + 1;
  if (attempts < maxAttempts) return true;
  return maxAttempts > 1 && isOfOneWorker && others.untried && attempts < 2 * maxAttempts;
}
