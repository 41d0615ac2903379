import { terminalStatuses } from '../domain/states.ts';
import type { WireJob } from '../domain/wire/job.ts';
import { WaitTimedOut } from './errors.ts';
import { Outage } from './outage.ts';
import { pause } from './pause.ts';

export interface WaitOptions {
  /** Give up after this; absent: no limit. */
  timeoutSeconds?: number | undefined;
  signal?: AbortSignal | undefined;
  /** The coordinator has answered about this job before: then wait even if it is away at the first request. */
  isKnown?: boolean | undefined;
}

/** One request: answers when the job has ended or `waitSeconds` are over. */
export type AskJob = (waitSeconds: number, signal: AbortSignal | undefined) => Promise<WireJob>;

/** Less than the 60 s after which common proxies cut an idle connection. */
const askSeconds = 30;
/** Between two requests when the coordinator answered at once instead of waiting, ms. */
const betweenMs = 250;

/** Whether the job has ended. */
export function hasEnded(job: Pick<WireJob, 'status'>): boolean {
  return terminalStatuses.includes(job.status);
}

/**
 * Repeat the request until the job has ended.
 * @throws WaitTimedOut; ApiError and Unreachable of the request, except temporary ones.
 */
export async function waitForEnd(jobId: string, ask: AskJob, options: WaitOptions): Promise<WireJob> {
  const { timeoutSeconds = Number.POSITIVE_INFINITY, signal, isKnown = false } = options;
  const deadline = performance.now() + timeoutSeconds * 1000;
  const outage = new Outage(isKnown);
  for (;;) {
    const leftSeconds = Math.max(0, (deadline - performance.now()) / 1000);
    // The API takes whole seconds; the last request may end a little before the deadline, never after it.
    const seconds = Math.floor(Math.min(leftSeconds, askSeconds));
    const askedAt = performance.now();
    const answer = await ask(seconds, signal).catch((error: unknown) => outage.pauseAfter(error));
    const isLate = performance.now() >= deadline;
    if (typeof answer === 'number') {
      if (isLate) throw new WaitTimedOut(jobId, timeoutSeconds);
      await pause(Math.min(answer, leftSeconds * 1000), signal);
      continue;
    }
    outage.answered();
    if (hasEnded(answer)) return answer;
    if (isLate) throw new WaitTimedOut(jobId, timeoutSeconds);
    const waited = performance.now() - askedAt;
    const rest = Math.min(betweenMs, deadline - performance.now());
    if (waited < betweenMs && rest > 0) await pause(rest, signal);
  }
}
