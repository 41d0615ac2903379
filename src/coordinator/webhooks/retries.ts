import type { Random } from '../../domain/clock.ts';
import type { SendOutcome } from '../../domain/webhook.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** After the first try, the second …: three days in all, as Standard Webhooks 1.0.0 proposes, ms. */
const delays = [5 * second, 5 * minute, 30 * minute, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)];
/** Each delay is up to so much longer, so that what failed together does not come back together. */
const jitter = 0.1;
/** A receiver may ask for at most so long a wait. */
const retryAfterMax = day;

/** Failures of an endpoint in a row after which one try at a time looks whether it is back. */
export const failuresMax = 5;
const probeMs = 30 * second;
const probeMsMax = hour;

/** How long after its last try a delivery is tried again, ms; null when that was the last. @param tries that have failed. */
export function delayAfter(tries: number, outcome: SendOutcome, now: number, random: Random): number | null {
  const delay = delays[tries - 1];
  if (delay === undefined) return null;
  return Math.max(delay * (1 + jitter * random.next()), askedWait(outcome, now));
}

/** How long the receiver asked to wait, ms; 0 without a `Retry-After`. */
export function askedWait({ retryAfter }: SendOutcome, now: number): number {
  if (retryAfter === null) return 0;
  const asked = /^\d+$/.test(retryAfter.trim()) ? Number(retryAfter) * second : Date.parse(retryAfter) - now;
  return Number.isNaN(asked) ? 0 : Math.min(retryAfterMax, Math.max(0, asked));
}

/** How long until the next probe of an endpoint that fails, ms. @param probes that have failed. */
export function probeDelay(probes: number, random: Random): number {
  return Math.min(probeMsMax, probeMs * 2 ** Math.min(probes, 20)) * (1 + jitter * random.next());
}

export function isSuccess({ status }: SendOutcome): boolean {
  return status !== null && status >= 200 && status < 300;
}
