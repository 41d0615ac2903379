import type { JobEvent } from '../../../machines/events.ts';
import type { Config } from '../../config/config.ts';
import type { Pricing } from '../../cost/pricing.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import {
  type ErrorClass,
  type Failure,
  type Fault,
  failureOf,
  faultOf,
  isUnrun,
  type Others,
  type ReportedFailure,
} from '../../domain/failure.ts';
import type { ToolCall } from '../../domain/job.ts';
import {
  type Attempt,
  type AttemptOutcome,
  candidatesOf,
  type JobLife,
  type JobRecord,
  type LeaseRef,
  lastAttempt,
} from '../../domain/job.ts';
import { type Cost, noCost } from '../../domain/money.ts';
import { judgedUsage, type Usage, usageFromWire } from '../../domain/usage.ts';
import type { AckReason, WorkerSession } from '../fleet/index.ts';
import type { Providers } from '../limits/index.ts';
import type { JobHost } from './jobHost.ts';

/** Back-off of a transient failure: 1 s, 2 s, 4 s … with jitter. */
const backoffBaseMs = 1_000;
const backoffMaxMs = 60_000;

/** A worker's last word on a lease. */
export type Outcome =
  | {
      type: 'complete';
      output: string;
      toolCalls?: ToolCall[] | undefined;
      finishReason: string;
      model: string | null;
      /** null: the provider did not tell it. */
      usage: Usage | null;
      rawUsage?: unknown;
      latencyMs: number;
      firstTokenMs: number | null;
    }
  | ({
      type: 'fail';
      failure: ReportedFailure;
      usage: Usage | null;
      model?: string | null | undefined;
    } & Begun)
  | { type: 'aborted'; usage: Usage | null; model?: string | null | undefined }
  | ({ type: 'release' } & Begun);

/** Whether the provider had begun to answer, so that it may charge for an attempt that brought nothing. */
interface Begun {
  begun?: boolean | undefined;
}

/** How an attempt must have ended for the same word to be only a repetition, whose ack was lost. */
const repeats: Record<Outcome['type'], readonly AttemptOutcome[]> = {
  complete: ['completed'],
  fail: ['failed', 'rate_limited'],
  aborted: ['cancelled', 'timed_out'],
  release: ['released'],
};

/** The provider turned the request away before it ran anything, and charges nothing for that. */
const turnedAway: readonly ErrorClass[] = ['rate_limited', 'context_overflow', 'invalid_request'];

/** It did so when it said it with a status; in the middle of an answer it may charge for what it had made of it. */
const turnedAwayByStatus: readonly ErrorClass[] = ['overloaded', 'server_error'];

function isTurnedAway({ class: errorClass, status, code }: ReportedFailure, fault: Fault | null): boolean {
  // The answer is there, and only too large for a frame.
  if (code === 'result_too_large') return false;
  if (isUnrun(fault)) return true;
  return turnedAway.includes(errorClass) || (status !== null && turnedAwayByStatus.includes(errorClass));
}

/** What a worker's last word means for its job, and what the attempt cost. */
export class Outcomes {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #host: JobHost;
  readonly #providers: Providers;
  readonly #pricing: Pricing;
  /** The other workers that fit a job at the provider of its last attempt. */
  readonly #others: (life: JobLife) => Others;
  /** Whether a connected worker says that a provider charges it nothing. */
  readonly #isFree: (workerId: string, provider: string) => boolean;
  /** Called when the worker has said its last word on a lease that only waited for it. */
  readonly #letGo: (ref: LeaseRef, workerId: string) => void;

  constructor(options: {
    config: () => Config;
    clock: Clock;
    random: Random;
    host: JobHost;
    providers: Providers;
    pricing: Pricing;
    others: (life: JobLife) => Others;
    isFree: (workerId: string, provider: string) => boolean;
    letGo: (ref: LeaseRef, workerId: string) => void;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#host = options.host;
    this.#providers = options.providers;
    this.#pricing = options.pricing;
    this.#others = options.others;
    this.#isFree = options.isFree;
    this.#letGo = options.letGo;
  }

  /**
   * A worker's last word on a lease.
   * @returns what to ack.
   * @throws StoreUnavailable when it could not be made durable; the worker keeps it and says it again.
   */
  async conclude(
    session: WorkerSession,
    ref: LeaseRef,
    said: Outcome,
  ): Promise<{ accepted: boolean; reason?: AckReason }> {
    const outcome = this.#judged(said);
    let reason = 'lease_lost' as AckReason;
    let repeated = false;
    const applied = await this.#host.apply(ref.jobId, (job) => {
      // It is asked again when the job has changed meanwhile.
      reason = 'lease_lost';
      repeated = false;
      const attempt = job.life.attempts.find(({ lease }) => lease === ref.lease);
      if (attempt === undefined) return [];
      if (attempt.workerId !== session.workerId) {
        reason = 'not_yours';
        return [];
      }
      if (attempt.outcome !== null && repeats[outcome.type].includes(attempt.outcome)) {
        repeated = true;
        if (outcome.type !== 'aborted') return [];
      }
      return this.#events(job, attempt, outcome);
    });
    if (applied.kind === 'unknown') return { accepted: false, reason: 'unknown_job' };
    if (reason === 'not_yours') return { accepted: false, reason };
    this.#letGo(ref, session.workerId);
    if (
      applied.kind === 'applied' &&
      (applied.event?.type === 'job.reaped' || applied.event?.type === 'job.released')
    ) {
      // These events say nothing of what the attempt cost until then.
      await this.#reportUsage(ref, outcome);
    }
    const accepted = repeated || (applied.kind === 'applied' && applied.event?.type !== 'job.usageReported');
    return accepted ? { accepted } : { accepted, reason };
  }

  #judged(outcome: Outcome): Outcome {
    if (!('usage' in outcome) || outcome.usage === null) return outcome;
    const usage = judgedUsage(outcome.usage, this.#config().cost.tokensMaxPerAttempt);
    return usage === outcome.usage ? outcome : { ...outcome, usage };
  }

  async #reportUsage(ref: LeaseRef, outcome: Outcome): Promise<void> {
    await this.#host.apply(ref.jobId, (job) => {
      const attempt = job.life.attempts.find(({ lease }) => lease === ref.lease);
      return attempt === undefined ? [] : this.#lateUsage(attempt, outcome, this.#clock.now());
    });
  }

  /** What an attempt that has ended was charged for, if the worker says so and nobody has counted it. */
  #lateUsage(attempt: Attempt, outcome: Outcome, at: number): JobEvent[] {
    const usage = 'usage' in outcome ? outcome.usage : null;
    if (usage === null || attempt.usage !== null) return [];
    const cost = this.#costOf(attempt, outcome, null, at);
    const model = modelOf(outcome);
    return [{ type: 'job.usageReported', at, lease: attempt.lease, usage, cost, model }];
  }

  /** What the worker's word can mean, best first; the machine takes the first that its state accepts. */
  #events(job: JobRecord, attempt: Attempt, outcome: Outcome): JobEvent[] {
    const at = this.#clock.now();
    const usage = 'usage' in outcome ? outcome.usage : null;
    const fault = outcome.type === 'fail' ? faultIn(outcome) : null;
    const cost = this.#costOf(attempt, outcome, fault, at);
    const spent = { at, lease: attempt.lease, usage, cost };
    const late = this.#lateUsage(attempt, outcome, at);
    switch (outcome.type) {
      case 'complete': {
        const { output, toolCalls, finishReason, rawUsage, latencyMs, firstTokenMs } = outcome;
        const { provider, workerId } = attempt;
        const result = {
          output,
          ...(toolCalls === undefined ? {} : { toolCalls }),
          finishReason,
          provider,
          model: outcome.model ?? attempt.model,
          workerId,
          usage: usage ?? usageFromWire({}),
          ...(rawUsage === undefined ? {} : { rawUsage }),
          latencyMs,
          firstTokenMs,
        };
        return [{ type: 'job.completed', ...spent, result }, ...late];
      }
      case 'fail':
        return [this.#attemptFailed(job, attempt, outcome, fault, spent), ...late];
      case 'aborted':
        return [
          {
            type: 'job.reaped',
            at,
            lease: attempt.lease,
            outcome: 'lost',
            maxReaps: this.#config().jobs.maxReaps,
            cost,
          },
          ...late,
        ];
      case 'release':
        return [{ type: 'job.released', at, lease: attempt.lease, cost }];
    }
  }

  #attemptFailed(
    job: JobRecord,
    attempt: Attempt,
    { failure, model }: Extract<Outcome, { type: 'fail' }>,
    fault: Fault | null,
    spent: { at: number; lease: number; usage: Usage | null; cost: Cost },
  ): JobEvent {
    const { jobs, routing } = this.#config();
    const tries = job.life.tallies[attempt.provider]?.transient ?? 0;
    const backoffMs = Math.min(backoffMaxMs, backoffBaseMs * 2 ** tries);
    const maxRateLimitRetries = this.#providers.rateLimit(attempt.provider)?.maxRetries ?? null;
    const next = candidatesOf(job.life).find(({ provider }) => provider !== attempt.provider) ?? null;
    const isUnhandled = failure.class === 'rate_limited' && maxRateLimitRetries === null && next === null;
    return {
      type: 'job.attemptFailed',
      ...spent,
      error: isUnhandled ? unhandledLimit(failureOf(failure), attempt.provider) : failureOf(failure),
      fault,
      others: this.#others(job.life),
      model: model ?? null,
      retryAfterMs: failure.retryAfterMs,
      rules: {
        maxAttempts: jobs.maxAttempts,
        maxRateLimitRetries,
        fallbackOnTimeout: routing.fallbackOnTimeout,
      },
      retryAt: spent.at + Math.ceil(backoffMs * (0.5 + 0.5 * this.#random.next())),
      next,
    };
  }

  /** What an attempt costs by its worker's last word. One that has ended is priced by the time of its end. */
  #costOf(attempt: Attempt, outcome: Outcome, fault: Fault | null, at: number): Cost {
    const { provider, model, workerId, finishedAt } = attempt;
    const usage = 'usage' in outcome ? outcome.usage : null;
    if (usage === null && isNothing(outcome, fault)) return noCost;
    const reportedModel = modelOf(outcome);
    const isFree = this.#isFree(workerId, provider);
    return this.#pricing.costOf({ provider, model, reportedModel, usage, at: finishedAt ?? at, isFree });
  }

  /**
   * What the running attempt of a job costs when it ends without a report of its worker: the provider may have charged for
   * it, so this is unknown, unless the provider is free. The usage that the worker reports later replaces it.
   */
  costUnreported(job: JobRecord): Cost {
    const attempt = lastAttempt(job.life);
    if (attempt === undefined) return noCost;
    const { provider, model, workerId } = attempt;
    const isFree = this.#isFree(workerId, provider);
    return this.#pricing.costOf({ provider, model, usage: null, at: this.#clock.now(), isFree });
  }
}

/** The fault of the worker that a failure shows; null when it shows none. */
function faultIn({ failure, usage, begun }: Extract<Outcome, { type: 'fail' }>): Fault | null {
  return faultOf(failureOf(failure), usage !== null || begun === true);
}

/** What the provider ran, by its worker's word; null when it does not say. */
function modelOf(outcome: Outcome): string | null {
  return outcome.type === 'release' ? null : (outcome.model ?? null);
}

/** The provider cannot have charged for it. */
function isNothing(outcome: Outcome, fault: Fault | null): boolean {
  switch (outcome.type) {
    case 'release':
      return outcome.begun !== true;
    case 'fail':
      return outcome.begun !== true && isTurnedAway(outcome.failure, fault);
    default:
      return false;
  }
}

/** A 429 that fails its job says which line of the configuration would have made the job wait. */
function unhandledLimit(failure: Failure, provider: string): Failure {
  const advice = `Jobs wait for limits with providers.${provider}.rate_limit, or providers.defaults.rate_limit for every provider, in the configuration`;
  return { ...failure, message: `${failure.message}. ${advice}` };
}
