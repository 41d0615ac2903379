import {
  type Failure,
  faultOf,
  isUnrun,
  jobTimeout,
  mayWaitForLimit,
  type ProviderTally,
  releasedTooOften,
  type Verdict,
  verdictOn,
  workerKeyRevoked,
  workerLost,
} from '../src/domain/failure.ts';
import {
  type Attempt,
  type AttemptOutcome,
  candidatesOf,
  type JobLife,
  laneKey,
  lastAttempt,
  type RouteStep,
  type Turn,
  turnEvents,
  turnsMax,
} from '../src/domain/job.ts';
import { type Cost, noCost } from '../src/domain/money.ts';
import type { JobState } from '../src/domain/states.ts';
import type { Usage } from '../src/domain/usage.ts';
import type { JobEvent } from './events.ts';

/*
 * What a job remembers, and what each event makes of it: the memory of `jobMachine`, which decides what may happen.
 * Pure; a life that was given is never changed.
 */

/** Times that workers may give a job back before it fails: far more than deploys do, but not for ever. */
export const releasesMax = 100;
/**
 * Attempts that a job remembers, of those that never ran. It may wait for a server for weeks and be the trial of its
 * worker every minute; from here on a new attempt takes the place of the last one when that was not run.
 */
const attemptsKept = 50;
/** Decisions that a job remembers; older ones are dropped so that a job that waits for ever stays small. */
const routeLengthMax = 100;

/** Whether it must wait for a time. */
export function isDelayed(life: JobLife): boolean {
  return life.delayedUntil !== null;
}

/** The event of a type. */
export type Of<T extends JobEvent['type']> = Extract<JobEvent, { type: T }>;

const noTally: ProviderTally = { transient: 0, rateLimited: 0 };

function tallyOf(life: JobLife, provider: string): ProviderTally {
  // A provider may be named like a property that every object inherits.
  return (Object.hasOwn(life.tallies, provider) ? life.tallies[provider] : undefined) ?? noTally;
}

function withSteps(life: JobLife, steps: RouteStep[]): RouteStep[] {
  return [...life.route, ...steps].slice(-routeLengthMax);
}

/** The attempts with the last one ended. `usage` stays null until it is reported, also when the cost is known. */
function ended(
  life: JobLife,
  at: number,
  outcome: AttemptOutcome,
  error: Failure | null,
  usage: Usage | null,
  cost: Cost,
): Attempt[] {
  const attempt = lastAttempt(life);
  if (!attempt) return life.attempts;
  return [...life.attempts.slice(0, -1), { ...attempt, finishedAt: at, outcome, error, usage, cost }];
}

/** The attempts, the last one with the model that its worker reports, unless one had been asked for. */
function named(attempts: Attempt[], model: string | null): Attempt[] {
  return attempts.map((attempt, index) =>
    index === attempts.length - 1 && attempt.model === null ? { ...attempt, model } : attempt,
  );
}

/** Whether a job whose worker is lost once more must end. */
export function isReapedTooOften({ reapCount }: JobLife, { maxReaps }: Of<'job.reaped'>): boolean {
  return reapCount >= maxReaps;
}

/**
 * A life after an event, with the state that it led to when the attempts do not show it. They show what a failed attempt led
 * to, but for a delay.
 */
export function withTurn(life: JobLife, event: JobEvent, to: JobState): JobLife {
  if (!isTurn(event) || (event.type === 'job.attemptFailed' && !isDelayed(life))) return life;
  const { turns = [], lease } = life;
  return { ...life, turns: [...turns, { at: event.at, lease, event: event.type, to }].slice(-turnsMax) };
}

function isTurn(event: JobEvent): event is Of<Turn['event']> {
  return (turnEvents as readonly string[]).includes(event.type);
}

/** Back in the queue, with its place kept. */
const requeued = { startedAt: null, delayedUntil: null } as const;

/** What becomes of a job whose attempt has failed; null for another event, and for one of another lease. */
export function verdict(life: JobLife, event: JobEvent): Verdict | null {
  if (event.type !== 'job.attemptFailed' || event.lease !== life.lease) return null;
  const { error, fault, rules, next, others } = event;
  const { provider, workerId } = lastAttempt(life) ?? { provider: life.target.provider, workerId: null };
  return verdictOn(error.class, {
    fault,
    tally: tallyOf(life, provider),
    rules,
    hasNext: next !== null,
    others,
    isOfOneWorker: life.attempts.every(
      (attempt) =>
        attempt.provider !== provider || attempt.outcome !== 'failed' || attempt.workerId === workerId,
    ),
  });
}

/** Whether an attempt has ended before the provider was asked, or by its refusal to run anything. */
function wasUnrun({ outcome, error, usage }: Attempt): boolean {
  return outcome === 'failed' && error !== null && usage === null && isUnrun(faultOf(error, false));
}

/** The time that it waited for has come. */
export function becomeReady(life: JobLife, { at }: Of<'job.due'>): JobLife {
  return { ...life, delayedUntil: null, updatedAt: at };
}

/** Leased to a worker: a new attempt under the next lease. */
export function beginAttempt(
  life: JobLife,
  { at, workerId, provider, model, why, skipped = [], estimate }: Of<'job.assigned'>,
): JobLife {
  const lease = life.lease + 1;
  const last = lastAttempt(life);
  const isReplaced = last !== undefined && life.attempts.length >= attemptsKept && wasUnrun(last);
  const kept = isReplaced ? life.attempts.slice(0, -1) : life.attempts;
  const attempt: Attempt = {
    number: kept.length + 1,
    lease,
    workerId,
    provider,
    model,
    startedAt: at,
    finishedAt: null,
    outcome: null,
    error: null,
    usage: null,
    cost: noCost,
    ...(estimate === undefined ? {} : { estimate }),
  };
  return {
    ...life,
    lease,
    attempts: [...kept, attempt],
    route: withSteps(life, [...skipped, { provider, model, workerId, outcome: 'chosen', why, at }]),
    startedAt: at,
    updatedAt: at,
  };
}

/** A result accepted, also a late one: the attempt's outcome becomes `completed`. */
export function acceptResult(life: JobLife, { at, result, usage, cost }: Of<'job.completed'>): JobLife {
  return {
    ...life,
    attempts: named(ended(life, at, 'completed', null, usage, cost), result.model),
    startedAt: lastAttempt(life)?.startedAt ?? null,
    finishedAt: at,
    updatedAt: at,
    delayedUntil: null,
    error: null,
    result,
  };
}

/** Where the last attempt failed, and why. */
function failedStep(life: JobLife, error: Failure, at: number): RouteStep {
  const { provider, model, workerId } = lastAttempt(life) ?? { ...life.target, workerId: null };
  const why = `${error.class}: ${error.message}`.slice(0, 300);
  return { provider, model, workerId, outcome: 'failed', why, at };
}

/** The attempt has failed and is counted for its provider. */
export function endFailedAttempt(
  life: JobLife,
  { at, error, fault, usage, cost, model = null }: Of<'job.attemptFailed'>,
): JobLife {
  const attempt = lastAttempt(life);
  const provider = attempt?.provider ?? life.target.provider;
  const tally = tallyOf(life, provider);
  const isLimit = error.class === 'rate_limited';
  return {
    ...life,
    ...requeued,
    attempts: named(ended(life, at, isLimit ? 'rate_limited' : 'failed', error, usage, cost), model),
    tallies: {
      ...life.tallies,
      [provider]: isLimit
        ? { ...tally, rateLimited: tally.rateLimited + 1 }
        : { ...tally, transient: tally.transient + (isUnrun(fault) ? 0 : 1) },
    },
    route: withSteps(life, [failedStep(life, error, at)]),
    updatedAt: at,
  };
}

/**
 * The chain loses the member that is next, wherever it stood: those before it were skipped, not tried. The one that
 * answered 429 goes to its end while it may still be waited for. Reads the tally as it was before this failure.
 */
export function takeNextTarget(life: JobLife, { next, error, rules }: Of<'job.attemptFailed'>): JobLife {
  if (next === null) return life;
  const failed = lastAttempt(life)?.provider ?? life.target.provider;
  const isWaitedFor = error.class === 'rate_limited' && mayWaitForLimit(tallyOf(life, failed), rules);
  const candidates = candidatesOf(life);
  const untried = candidates.filter(
    (member) => member.provider !== failed && laneKey(member) !== laneKey(next),
  );
  const waitedFor = isWaitedFor ? candidates.filter(({ provider }) => provider === failed) : [];
  return { ...life, target: next, chain: [...untried, ...waitedFor] };
}

/** It waits before it is tried again. */
export function delayRetry(life: JobLife, { retryAt }: Of<'job.attemptFailed'>): JobLife {
  return { ...life, delayedUntil: retryAt };
}

function failedFor(life: JobLife, at: number, error: Failure): JobLife {
  return { ...life, startedAt: lastAttempt(life)?.startedAt ?? null, finishedAt: at, error };
}

/** The error of the last attempt is that of the job. */
export function failWithError(life: JobLife, { at, error }: Of<'job.attemptFailed'>): JobLife {
  return failedFor(life, at, error);
}

/** Cancelled while it waited. */
export function cancelWaiting(life: JobLife, { at }: Of<'job.cancelled'>): JobLife {
  return { ...life, delayedUntil: null, finishedAt: at, updatedAt: at };
}

/** Cancelled while a worker had it. */
export function cancelAttempt(life: JobLife, { at, cost = noCost }: Of<'job.cancelled'>): JobLife {
  return {
    ...life,
    attempts: ended(life, at, 'cancelled', null, null, cost),
    finishedAt: at,
    updatedAt: at,
  };
}

/** The key of its worker was revoked, so no report of that worker counts any more. */
export function failKeyRevoked(life: JobLife, { at, cost = noCost }: Of<'job.keyRevoked'>): JobLife {
  const error = workerKeyRevoked();
  return {
    ...life,
    attempts: ended(life, at, 'failed', error, null, cost),
    route: withSteps(life, [failedStep(life, error, at)]),
    finishedAt: at,
    updatedAt: at,
    error,
  };
}

/** It has run for longer than it may. */
export function failTimedOut(life: JobLife, { at, timeoutMs, cost = noCost }: Of<'job.timedOut'>): JobLife {
  const error = jobTimeout(timeoutMs);
  return {
    ...life,
    attempts: ended(life, at, 'timed_out', error, null, cost),
    finishedAt: at,
    updatedAt: at,
    error,
  };
}

/** Taken from a worker that is lost; back in the queue, with its place kept. */
export function takeBack(life: JobLife, { at, outcome, cost = noCost }: Of<'job.reaped'>): JobLife {
  return {
    ...life,
    ...requeued,
    attempts: ended(life, at, outcome, null, null, cost),
    reapCount: life.reapCount + 1,
    updatedAt: at,
  };
}

/** Its workers were lost too often. */
export function failLost(life: JobLife, { at }: Of<'job.reaped'>): JobLife {
  return failedFor(life, at, workerLost(life.reapCount));
}

/** Its worker gave it back: no attempt is burnt, though what the provider had begun may cost something. */
export function giveBack(life: JobLife, { at, cost = noCost }: Of<'job.released'>): JobLife {
  return {
    ...life,
    ...requeued,
    attempts: ended(life, at, 'released', null, null, cost),
    releaseCount: (life.releaseCount ?? 0) + 1,
    updatedAt: at,
  };
}

/** Its workers gave it back too often. */
export function failReleased(life: JobLife, { at }: Of<'job.released'>): JobLife {
  return failedFor(life, at, releasedTooOften(releasesMax));
}

/** POST retry: automatic counters start again, history stays. */
export function startAgain(
  life: JobLife,
  { at, strategy, target, chain, cost = noCost }: Of<'job.retried'>,
): JobLife {
  const attempt = lastAttempt(life);
  return {
    ...life,
    ...requeued,
    attempts: attempt && attempt.outcome === null ? ended(life, at, 'lost', null, null, cost) : life.attempts,
    strategy,
    target,
    chain,
    tallies: {},
    retryCount: life.retryCount + 1,
    reapCount: 0,
    releaseCount: 0,
    finishedAt: null,
    updatedAt: at,
    error: null,
  };
}

/** Its worker is gone, and may be back. */
export function loseWorker(life: JobLife, { at }: Of<'job.workerLost'>): JobLife {
  return { ...life, updatedAt: at };
}

/** Its worker is back. */
export function findWorker(life: JobLife, { at }: Of<'job.workerReturned'>): JobLife {
  return { ...life, updatedAt: at };
}

/** What an ended attempt still cost. The state stays. */
export function recordUsage(
  life: JobLife,
  { lease, usage, cost, at, model = null }: Of<'job.usageReported'>,
): JobLife {
  return {
    ...life,
    attempts: life.attempts.map((attempt) =>
      attempt.lease === lease ? { ...attempt, usage, cost, model: attempt.model ?? model } : attempt,
    ),
    updatedAt: at,
  };
}
