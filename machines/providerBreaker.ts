import type { BreakerSettings } from '../src/domain/provider.ts';
import { type AttemptWindow, endsOf } from './attemptWindow.ts';
import { hasOpened, type Of, type ProviderLife, windowWith } from './providerLife.ts';

/*
 * When the circuit breaker of a provider opens: the guards of `providerMachine` that read its window of attempts. Pure.
 */

/** The attempts of the breaker's window at this time, and how many of them failed. */
export function windowAt(
  { window }: ProviderLife,
  { windowSeconds }: BreakerSettings,
  monotonic: number,
): { attempts: number; failed: number } {
  const from = monotonic - windowSeconds * 1000;
  const ends = endsOf(window).filter(({ at }) => at > from);
  return { attempts: ends.length, failed: ends.filter(({ failed }) => failed).length };
}

function isFull({ attempts, failed }: AttemptWindow, { minimum, ratio }: BreakerSettings): boolean {
  return attempts >= minimum && failed >= ratio * attempts;
}

/**
 * Whether a worker is left that can: one that is well, and of whose recent attempts fewer failed than the breaker allows.
 * While there is one, the provider is not stopped.
 */
function isWorkerLeft(window: AttemptWindow, ableWorkers: readonly string[], ratio: number): boolean {
  if (ableWorkers.length === 0) return false;
  const ends = Map.groupBy(endsOf(window), ({ workerId }) => workerId);
  return ableWorkers.some((id) => {
    const own = ends.get(id) ?? [];
    return own.filter(({ failed }) => failed).length < Math.max(ratio * own.length, Number.MIN_VALUE);
  });
}

/** Whether a failure could open the breaker, so that it matters which workers are well. */
export function mayOpen(life: ProviderLife, failure: Of<'provider.failed'>): boolean {
  return hasOpened(life) || isFull(windowWith(life, failure), failure.rules.breaker);
}

/** Enough attempts in the window, too many of them failed, and no worker is left that can. */
export function isTooBad(life: ProviderLife, failure: Of<'provider.failed'>): boolean {
  const window = windowWith(life, failure);
  const { breaker } = failure.rules;
  return isFull(window, breaker) && !isWorkerLeft(window, failure.ableWorkers, breaker.ratio);
}

/** The same, or its breaker has opened, nothing has succeeded since, and no worker is left to probe with. */
export function isStillBad(life: ProviderLife, failure: Of<'provider.failed'>): boolean {
  const window = windowWith(life, failure);
  const { breaker } = failure.rules;
  return (
    (hasOpened(life) || isFull(window, breaker)) && !isWorkerLeft(window, failure.ableWorkers, breaker.ratio)
  );
}
