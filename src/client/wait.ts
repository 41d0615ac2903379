import { terminalStatuses } from '../domain/states.ts';
import type { WireJob } from '../domain/wire/job.ts';
import { ApiError, Unreachable, WaitTimedOut } from './errors.ts';
import { pause } from './pause.ts';

export interface WaitOptions {
  /** Give up after this; absent: wait for as long as it takes. */
  timeoutSeconds?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** One question to the coordinator: answers when the job has ended or `waitSeconds` are over. */
export type AskJob = (waitSeconds: number, signal: AbortSignal | undefined) => Promise<WireJob>;

/** Under the 60 s after which the usual proxies cut a silent connection. */
const askSeconds = 30;
/** Between two questions when the coordinator answered at once instead of waiting, ms. */
const betweenMs = 250;
/** A restart of the coordinator is no reason to give up: so long it may be away, once it has answered, ms. */
const awayMs = 30_000;
const awayPauseMs = 1_000;

/** Whether the job has ended. */
export function hasEnded(job: Pick<WireJob, 'status'>): boolean {
  return terminalStatuses.includes(job.status);
}

/**
 * Ask until the job has ended.
 * @throws WaitTimedOut; ApiError and Unreachable as the question gives them, but for those that pass by themselves.
 */
export async function waitForEnd(jobId: string, ask: AskJob, options: WaitOptions): Promise<WireJob> {
  const { timeoutSeconds = Number.POSITIVE_INFINITY, signal } = options;
  const deadline = performance.now() + timeoutSeconds * 1000;
  let seenAt: number | null = null;
  for (;;) {
    const leftSeconds = Math.max(0, (deadline - performance.now()) / 1000);
    // The API takes whole seconds; the last question may end a little before the deadline, never after it.
    const seconds = Math.floor(Math.min(leftSeconds, askSeconds));
    const askedAt = performance.now();
    const answer = await ask(seconds, signal).catch((error: unknown) => passing(error, seenAt));
    const isLate = performance.now() >= deadline;
    if (typeof answer === 'number') {
      if (isLate) throw new WaitTimedOut(jobId, timeoutSeconds);
      await pause(Math.min(answer, leftSeconds * 1000), signal);
      continue;
    }
    seenAt = performance.now();
    if (hasEnded(answer)) return answer;
    if (isLate) throw new WaitTimedOut(jobId, timeoutSeconds);
    const waited = performance.now() - askedAt;
    const rest = Math.min(betweenMs, deadline - performance.now());
    if (waited < betweenMs && rest > 0) await pause(rest, signal);
  }
}

/**
 * How long to pause before the next question after a failure that passes by itself, ms. @throws any other failure.
 * @param seenAt when the coordinator answered last, as performance.now() tells it; null: it never did.
 */
export function passing(error: unknown, seenAt: number | null): number {
  const isAway =
    error instanceof Unreachable || (error instanceof ApiError && [502, 503, 504].includes(error.status));
  if (isAway && seenAt !== null && performance.now() - seenAt < awayMs) return awayPauseMs;
  if (error instanceof ApiError && error.status === 429) return (error.retryAfterSeconds ?? 1) * 1000;
  throw error;
}
