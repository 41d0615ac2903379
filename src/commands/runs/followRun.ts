import type { Client } from '../../client/client.ts';
import { pause } from '../../client/pause.ts';
import type { WireJob } from '../../domain/wire/job.ts';
import type { WireRun } from '../../domain/wire/run.ts';
import { plainLine } from '../../lib/plainText.ts';
import type { Patience } from './patience.ts';
import type { Moment, Progress } from './progress.ts';

/** Between two requests, ms: a small run is over soon, a large one takes hours. */
const everyMsFirst = 200;
const everyMsMax = 1_000;
const growth = 1.5;
/** Between two looks at why jobs wait. */
const reasonEveryMs = 3_000;
/** Only a person ends these: they are said at once. */
const needPeople = ['no_worker', 'workers_paused', 'concurrency_zero', 'queue_paused'];

export interface FollowRunOptions {
  name: string;
  signal: AbortSignal;
  /** When to give up, on the clock of performance.now(). */
  deadline: number;
  progress: Progress;
  /** What is sent in the meantime: the run is not over before that, unless it is paused and its jobs fill the queue. */
  sending?: {
    isOver: () => boolean;
    isBlocked: () => boolean;
    lines: () => number | null;
    sent: () => number;
  };
  /** Called after each look at the run, before the next. */
  onLook?: (() => Promise<void>) | undefined;
}

/** Whether nothing of a run runs any more: it is over, or paused and its running jobs have ended. */
export function isAtRest({ status, counts }: WireRun): boolean {
  if (counts.running > 0) return false;
  return status !== 'running' || (counts.total > 0 && counts.pending === 0);
}

/** Look at a run until nothing of it runs any more. @returns null when the time is over; as the client throws. */
export async function followRun(
  client: Client,
  { name, signal, deadline, progress, sending, onLook }: FollowRunOptions,
  patience: Patience,
): Promise<WireRun | null> {
  const reasons = new Reasons(client, name, progress, signal);
  let everyMs = everyMsFirst;
  for (;;) {
    // First: what was sent before the look is in the run.
    const isSent = sending?.isOver() ?? true;
    const run = await patience.ask(() => client.run(name, { signal }));
    const isStuck = run.status === 'paused' && sending?.isBlocked() === true;
    if ((isSent || isStuck) && isAtRest(run)) return run;
    const moment: Moment = {
      run,
      lines: sending?.lines() ?? null,
      sent: sending?.sent() ?? null,
      waiting: await reasons.of(run),
    };
    await onLook?.();
    progress.show(moment);
    const left = deadline - performance.now();
    if (left <= 0) return null;
    await pause(Math.min(everyMs, left), signal);
    everyMs = Math.min(everyMsMax, everyMs * growth);
  }
}

/** Why the jobs of a run wait: what one of them says. */
class Reasons {
  readonly #client: Client;
  readonly #name: string;
  readonly #progress: Progress;
  readonly #signal: AbortSignal;
  #askedAt = Number.NEGATIVE_INFINITY;
  #detail: string | null = null;
  #said: string | null = null;

  constructor(client: Client, name: string, progress: Progress, signal: AbortSignal) {
    this.#client = client;
    this.#name = name;
    this.#progress = progress;
    this.#signal = signal;
  }

  async of(run: WireRun): Promise<string | null> {
    if (run.counts.pending === 0 || run.paused !== null) return null;
    if (performance.now() - this.#askedAt < reasonEveryMs) return this.#detail;
    const waiting = await this.#ask();
    // The reason of a job that has just come is known a moment later.
    if (waiting !== null) this.#askedAt = performance.now();
    this.#detail = waiting === null ? null : waiting.detail;
    if (waiting === null || !needPeople.includes(waiting.reason)) return this.#detail;
    if (this.#said !== waiting.reason) this.#progress.say(`Jobs wait: ${plainLine(waiting.detail)}`);
    this.#said = waiting.reason;
    return this.#detail;
  }

  /** It is an extra: its failure is that of the next look at the run. */
  async #ask(): Promise<WireJob['waiting']> {
    const list = await this.#client
      .jobs({ run: this.#name, status: 'pending', limit: 1 }, this.#signal)
      .catch(() => ({ jobs: [] }));
    return list.jobs[0]?.waiting ?? null;
  }
}
