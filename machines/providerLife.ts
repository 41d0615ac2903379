import { brief, type Failure } from '../src/domain/failure.ts';
import type { BreakerSettings, ProviderHold, ProviderRules, RateLimit } from '../src/domain/provider.ts';
import type { ProviderStatus } from '../src/domain/states.ts';
import { type AttemptWindow, emptyWindow, withEnd } from './attemptWindow.ts';
import type { ProviderEvent } from './events.ts';
import { isConfirmed, isHeldAt, type MetLimit, metAgain } from './metLimit.ts';

/*
 * What is remembered of a provider, what each event makes of it, and what it may be sent by that: the memory of
 * `providerMachine`, which decides what may happen. Pure; a life that was given is never changed.
 */

/** The context of the provider machine. Plain JSON. */
export interface ProviderLife {
  name: string;
  /** Epoch ms until which nothing is sent; null while it is available or probed. */
  until: number | null;
  /** Limits in a row, for a back-off that grows. */
  limitsInRow: number;
  /** Times in a row that the breaker opened. */
  opensInRow: number;
  /** The failure with which the breaker opened last; null when it has not, or something has succeeded since. */
  cause: Failure | null;
  /** Whether the one job of a probe is under way. */
  probeSent: boolean;
  /** Monotonic ms; attempts that began before are not the probe. null unless it is probed. */
  probingSince: number | null;
  /** Requests at once since it is back from a limit or a failure; null when that bounds nothing any more. */
  ramp: number | null;
  /** Requests at once with which its limits were met; null while no number is known. */
  met: MetLimit | null;
  /** Requests under way beside those that met the limit that is waited for; null for a limit that says nothing of that. */
  beside: number | null;
  /**
   * Monotonic ms until which a worker that connects may be one that comes back after a restart, which says nothing of the
   * provider; null unless its present state was restored.
   */
  returnsUntil: number | null;
  /** Recent ends of attempts. */
  window: AttemptWindow;
  changedAt: number;
}

/** The event of a type. */
export type Of<T extends ProviderEvent['type']> = Extract<ProviderEvent, { type: T }>;

/** What a breaker goes by when none is configured. */
export const defaultBreaker: BreakerSettings = {
  ratio: 0.5,
  minimum: 10,
  windowSeconds: 60,
  openSeconds: 30,
};
/**
 * After a probe has got through, one request more than are under way, and one more with each that gets through: twice as
 * many with each round of answers, as TCP begins a connection. All that waits, at once, would meet a tight limit again:
 * nine of ten requests were 429 so, and jobs ran out of retries. From so many on nothing is counted any more.
 */
const rampTo = 1_000;
/** A limit is never shorter than what was asked for, and up to a tenth longer, so that waiters do not return as one. */
const jitterShare = 0.1;
/** The wait grows twofold with each limit in a row, this many times. */
const doublingsMax = 10;
/** How a limit is waited for where no `rate_limit` says so, seconds. */
const defaultWait = { retryAfterSeconds: 30, retryAfterMaxSeconds: 300 };
/** A hold that ended this long before a start is not restored: the provider may never be used again. */
const forgottenAfterMs = 600_000;

/** What is remembered of a provider that is new. */
export function beginLife({ name, at }: { name: string; at: number }): ProviderLife {
  return {
    name,
    until: null,
    limitsInRow: 0,
    opensInRow: 0,
    cause: null,
    probeSent: false,
    probingSince: null,
    ramp: null,
    met: null,
    beside: null,
    returnsUntil: null,
    window: emptyWindow,
    changedAt: at,
  };
}

/** A state and what goes with it. */
export interface RestoredProvider {
  status: ProviderHold['status'];
  life: ProviderLife;
}

/**
 * What held a provider back before a restart holds it back again, until the same time; null when that ended long ago.
 * @param at epoch ms. @param returnsUntil monotonic ms until which workers come back.
 */
export function restoreLife(
  { name, status, until, changedAt, limitsInRow, opensInRow, cause }: ProviderHold,
  { rateLimit, breaker }: ProviderRules,
  at: number,
  returnsUntil: number,
): RestoredProvider | null {
  if (until + forgottenAfterMs < at) return null;
  // Never longer than it would be from now on: the wall clock may have been set back, or the configuration be another.
  const longestMs = status === 'open' ? breaker.openSeconds * 1000 : longestLimitMs(rateLimit);
  const life: ProviderLife = {
    ...beginLife({ name, at: changedAt }),
    until: Math.min(until, at + longestMs),
    limitsInRow,
    opensInRow,
    cause,
    returnsUntil,
  };
  return { status, life };
}

/** What is to be stored of a provider, so that a restart finds it again; null for nothing. */
export function holdOf(
  status: ProviderStatus,
  { name, until, changedAt, limitsInRow, opensInRow, cause }: ProviderLife,
): ProviderHold | null {
  if ((status !== 'limited' && status !== 'open') || until === null) return null;
  return { name, status, until, changedAt, limitsInRow, opensInRow, cause };
}

/** Whether its breaker has opened, and nothing has succeeded since. */
export function hasOpened({ opensInRow }: ProviderLife): boolean {
  return opensInRow > 0;
}

/**
 * Jobs that it may be sent now, its ceiling of requests at once apart: none while limited or open, one while probing.
 * A limit of a provider without `rate_limit` stops nothing: its 429s fail their jobs, as the spec has it.
 */
export function allowanceOf(
  status: ProviderStatus,
  life: ProviderLife,
  { rateLimit }: ProviderRules,
): number {
  const waitsOutLimits = rateLimit !== null;
  if (status === 'open' || (status === 'limited' && waitsOutLimits)) return 0;
  if (status === 'probing' && (waitsOutLimits || hasOpened(life))) return life.probeSent ? 0 : 1;
  return Number.POSITIVE_INFINITY;
}

/** Requests at once that it may have now: its own ceiling, or fewer while it is coming back; null for any number. */
export function ceilingOf({ ramp }: ProviderLife, { rateLimit }: ProviderRules): number | null {
  const most = rateLimit?.maxConcurrent ?? null;
  return ramp === null || most === null ? (ramp ?? most) : Math.min(ramp, most);
}

/** Whether more jobs may be sent after a change than before it, so that those that wait are to be looked at. */
export function letsMore(before: ProviderLife, now: ProviderLife): boolean {
  return (
    (before.until !== null && now.until === null) ||
    (before.probingSince !== null && now.probingSince === null && now.until === null) ||
    (before.probeSent && !now.probeSent) ||
    (before.ramp !== null && (now.ramp === null || now.ramp > before.ramp))
  );
}

/** The longest limit that there can be, ms. */
function longestLimitMs(rateLimit: RateLimit | null): number {
  const { retryAfterMaxSeconds } = rateLimit ?? defaultWait;
  return Math.ceil(retryAfterMaxSeconds * 1000 * (1 + jitterShare));
}

/** Until when it is limited by a 429, epoch ms: as long as it asked for, else twice as long with each limit in a row. */
export function limitedUntil(
  { limitsInRow }: ProviderLife,
  { at, askedMs, jitter, rules }: Of<'provider.limited'>,
): number {
  const { retryAfterSeconds, retryAfterMaxSeconds } = rules.rateLimit ?? defaultWait;
  const ownMs = retryAfterSeconds * 1000 * 2 ** Math.min(limitsInRow, doublingsMax);
  const waitMs = Math.min(askedMs ?? ownMs, retryAfterMaxSeconds * 1000);
  return at + Math.ceil(waitMs * (1 + jitterShare * jitter));
}

/** The window with the end of this attempt. */
export function windowWith(
  { window }: ProviderLife,
  event: Of<'provider.succeeded' | 'provider.failed'>,
): AttemptWindow {
  const windowMs = event.rules.breaker.windowSeconds * 1000;
  const earlier = event.type === 'provider.succeeded' ? (event.earlier ?? []) : [];
  const { monotonic: at, workerId } = event;
  const ends = [...earlier, { at, failed: event.type === 'provider.failed', workerId }];
  return ends.reduce((now, end) => withEnd(now, end, windowMs), window);
}

/** Whether a success changes nothing but the window, so that many can be one event. */
export function isUntroubled({ until, probingSince, ramp, limitsInRow, opensInRow }: ProviderLife): boolean {
  return until === null && probingSince === null && ramp === null && limitsInRow + opensInRow === 0;
}

/** Whether it matters that output comes, as it does during a probe and a slow return. */
export function heedsOutput({ probingSince, ramp }: ProviderLife): boolean {
  return probingSince !== null || ramp !== null;
}

/** Whether an attempt that began then, monotonic ms, is the probe. */
export function isOfProbe({ probingSince }: ProviderLife, { began }: { began: number }): boolean {
  return probingSince !== null && began >= probingSince;
}

/** Whether a worker that has come is more than one that comes back after a restart. */
export function isNewWorker(
  { returnsUntil }: ProviderLife,
  { monotonic }: Of<'provider.workerCame'>,
): boolean {
  return returnsUntil === null || monotonic >= returnsUntil;
}

/** What every new state begins without. */
const unprobed = { probeSent: false, probingSince: null, ramp: null, returnsUntil: null } as const;

/** It answered 429. One to a probe does not say how many at once are too many. */
export function limit(life: ProviderLife, limited: Of<'provider.limited'>): ProviderLife {
  return {
    ...life,
    ...unprobed,
    beside: life.probingSince === null ? limited.underWay - 1 : null,
    until: limitedUntil(life, limited),
    limitsInRow: life.limitsInRow + 1,
    changedAt: limited.at,
  };
}

/** A 429 of the same burst: the request was not one of those that got through. */
export function limitMore(life: ProviderLife, { underWay }: Of<'provider.limited'>): ProviderLife {
  return { ...life, beside: life.beside === null ? null : Math.min(life.beside, underWay - 1) };
}

/** A 429 of the same burst, for a longer time. */
export function extend(life: ProviderLife, limited: Of<'provider.limited'>): ProviderLife {
  return { ...limitMore(life, limited), until: limitedUntil(life, limited) };
}

/** An attempt has ended while that changes nothing but the window. */
export function count(life: ProviderLife, end: Of<'provider.succeeded' | 'provider.failed'>): ProviderLife {
  return { ...life, window: windowWith(life, end) };
}

/** Its breaker opens. */
export function open(life: ProviderLife, failed: Of<'provider.failed'>): ProviderLife {
  return {
    ...life,
    ...unprobed,
    window: windowWith(life, failed),
    until: failed.at + failed.rules.breaker.openSeconds * 1000,
    opensInRow: life.opensInRow + 1,
    cause: brief(failed.failure),
    changedAt: failed.at,
  };
}

/** Requests at once after one more has got through. */
function climbed({ ramp, met }: ProviderLife): Pick<ProviderLife, 'ramp' | 'met'> {
  if (ramp === null || ramp + 1 >= rampTo) return { ramp: null, met: null };
  return isHeldAt(met, ramp) ? { ramp, met } : { ramp: ramp + 1, met };
}

/** One request less until more at once are tried. */
function withSuccess({ ramp, met }: ProviderLife): MetLimit | null {
  return ramp !== null && isHeldAt(met, ramp) ? { ...met, heldFor: met.heldFor - 1 } : met;
}

/** An attempt got an answer: its trouble is forgotten, and one request more may be under way. */
export function succeed(life: ProviderLife, succeeded: Of<'provider.succeeded'>): ProviderLife {
  return {
    ...life,
    window: windowWith(life, succeeded),
    ...climbed({ ...life, met: withSuccess(life) }),
    limitsInRow: 0,
    opensInRow: 0,
    cause: null,
  };
}

/** The first output of an attempt came: one request more may be under way. */
export function climb(life: ProviderLife): ProviderLife {
  return { ...life, ...climbed(life) };
}

/**
 * The probe got through: it returns slowly from what held its jobs back, or at once to the number of requests that it is
 * known to take.
 */
export function comeBack(
  life: ProviderLife,
  event: Of<'provider.succeeded' | 'provider.streamed'>,
): ProviderLife {
  const isHeldBack = event.rules.rateLimit !== null || hasOpened(life);
  const known = isConfirmed(life.met) && !hasOpened(life) ? life.met.atOnce : 1;
  return {
    ...life,
    ...unprobed,
    window: event.type === 'provider.succeeded' ? windowWith(life, event) : life.window,
    ramp: isHeldBack ? Math.max(event.underWay + 1, known) : null,
    until: null,
    limitsInRow: 0,
    opensInRow: 0,
    cause: null,
    changedAt: event.at,
  };
}

/** An operator takes it for available. */
export function reset({ name }: ProviderLife, { at }: Of<'provider.reset'>): ProviderLife {
  return beginLife({ name, at });
}

/** One job is to show whether it is back. All of a burst that met a limit have been refused by now. */
export function probe(
  life: ProviderLife,
  { at, monotonic }: Of<'provider.due' | 'provider.workerCame'>,
): ProviderLife {
  const met = life.beside === null ? life.met : metAgain(life.met, life.beside);
  return { ...life, ...unprobed, met, beside: null, until: null, probingSince: monotonic, changedAt: at };
}

/** The job of the probe was sent. */
export function sendProbe(life: ProviderLife): ProviderLife {
  return { ...life, probeSent: true };
}

/** The job of the probe has ended without a verdict: the next job is the probe. */
export function returnProbe(life: ProviderLife): ProviderLife {
  return { ...life, probeSent: false };
}

/** A failure that is no verdict on the provider: the next job is the probe. */
export function countAndReturnProbe(life: ProviderLife, failed: Of<'provider.failed'>): ProviderLife {
  return { ...life, window: windowWith(life, failed), probeSent: false };
}
