import type { JobEvent } from '../../../machines/events.ts';
import type { Config } from '../../config/config.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import {
  type Failure,
  type Fault,
  failureOf,
  faultOf,
  invalidOutput,
  type Others,
} from '../../domain/failure.ts';
import {
  type Attempt,
  type AttemptOutcome,
  candidatesOf,
  type JobLife,
  type JobRecord,
  type LeaseRef,
} from '../../domain/job.ts';
import type { Cost } from '../../domain/money.ts';
import { judgedUsage, type Usage, usageFromWire } from '../../domain/usage.ts';
import type { AckReason } from '../../domain/workerProtocol.ts';
import type { Providers } from '../limits/index.ts';
import type { AttemptCosts } from './attemptCosts.ts';
import type { JobHost } from './jobHost.ts';
import { modelOf, type Outcome, usageOf } from './outcome.ts';

/** Back-off of a transient failure: 1 s, 2 s, 4 s … with jitter. */
const backoffBaseMs = 1_000;
const backoffMaxMs = 60_000;

/** How an attempt must have ended for the same word to be only a repetition, whose ack was lost. */
const repeats: Record<Outcome['type'], readonly AttemptOutcome[]> = {
  complete: ['completed'],
  fail: ['failed', 'rate_limited'],
  aborted: ['cancelled', 'timed_out'],
  release: ['released'],
};

/** What is wrong with the answer to a job, and how often it may be asked again. */
type OutputFaultOf = (
  jobId: string,
  output: string,
) => Promise<{ fault: string; retries: number } | null> | null;

/** @see withFault */
type Failed = Extract<Outcome, { type: 'fail' }> & { outputRetries?: number };

/** What a worker's last word means for its job, and what the attempt cost. */
export class Outcomes {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #host: JobHost;
  readonly #providers: Providers;
  readonly #costs: AttemptCosts;
  /** The other workers that fit a job at the provider of its last attempt. */
  readonly #others: (life: JobLife) => Others;
  /** What is wrong with an answer; null, or a promise of it, when it will do. */
  readonly #outputFault: OutputFaultOf;
  /** Called when the worker has said its last word on a lease that only waited for it. */
  readonly #letGo: (ref: LeaseRef, workerId: string) => void;

  constructor(options: {
    config: () => Config;
    clock: Clock;
    random: Random;
    host: JobHost;
    providers: Providers;
    costs: AttemptCosts;
    others: (life: JobLife) => Others;
    outputFault: OutputFaultOf;
    letGo: (ref: LeaseRef, workerId: string) => void;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#host = options.host;
    this.#providers = options.providers;
    this.#costs = options.costs;
    this.#others = options.others;
    this.#outputFault = options.outputFault;
    this.#letGo = options.letGo;
  }

  /**
   * A worker's last word on a lease.
   * @returns what to ack.
   * @throws StoreUnavailable when it could not be made durable; the worker keeps it and says it again.
   */
  async conclude(
    workerId: string,
    ref: LeaseRef,
    said: Outcome,
  ): Promise<{ accepted: boolean; reason?: AckReason }> {
    const judged = this.#judged(said);
    const fault = judged.type === 'complete' ? this.#outputFault(ref.jobId, judged.output) : null;
    const outcome = fault === null ? judged : withFault(judged, await fault);
    let reason = 'lease_lost' as AckReason;
    let repeated = false;
    const applied = await this.#host.apply(ref.jobId, (job) => {
      // It is asked again when the job has changed meanwhile.
      reason = 'lease_lost';
      repeated = false;
      const attempt = job.life.attempts.find(({ lease }) => lease === ref.lease);
      if (attempt === undefined) return [];
      if (attempt.workerId !== workerId) {
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
    this.#letGo(ref, workerId);
    const hasUsage = usageOf(outcome) !== null;
    // This event says nothing of what the attempt used until then.
    if (hasUsage && applied.kind === 'applied' && applied.event?.type === 'job.reaped')
      await this.#reportUsage(ref, outcome);
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
    const usage = usageOf(outcome);
    if (usage === null || attempt.usage !== null) return [];
    const cost = this.#costs.of(attempt, outcome, null, at);
    const model = modelOf(outcome);
    return [{ type: 'job.usageReported', at, lease: attempt.lease, usage, cost, model }];
  }

  /** What the worker's word can mean, best first; the machine takes the first that its state accepts. */
  #events(job: JobRecord, attempt: Attempt, outcome: Outcome): JobEvent[] {
    const at = this.#clock.now();
    const usage = usageOf(outcome);
    const fault = outcome.type === 'fail' ? faultIn(outcome) : null;
    const cost = this.#costs.of(attempt, outcome, fault, at);
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
          usage: usage ?? { ...usageFromWire({}), isPartial: true },
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
    { failure, model, outputRetries }: Failed,
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
        ...(outputRetries === undefined ? {} : { outputRetries }),
      },
      // A model that answered wrongly may be asked again at once.
      retryAt:
        outputRetries === undefined
          ? spent.at + Math.ceil(backoffMs * (0.5 + 0.5 * this.#random.next()))
          : spent.at,
      next,
    };
  }
}

/** An answer that is not what was demanded has failed, and has cost what it has cost. */
function withFault(outcome: Outcome, fault: { fault: string; retries: number } | null): Outcome | Failed {
  if (fault === null || outcome.type !== 'complete') return outcome;
  const { usage, model } = outcome;
  const failure = invalidOutput(fault.fault);
  return { type: 'fail', failure, usage, model, begun: true, outputRetries: fault.retries };
}

/** The fault of the worker that a failure shows; null when it shows none. */
function faultIn({ failure, usage, begun }: Failed): Fault | null {
  return faultOf(failureOf(failure), usage !== null || begun === true);
}

/** A 429 that fails its job says which line of the configuration would have made the job wait. */
function unhandledLimit(failure: Failure, provider: string): Failure {
  const advice = `Jobs wait for limits with providers.${provider}.rate_limit, or providers.defaults.rate_limit for every provider, in the configuration`;
  return { ...failure, message: `${failure.message}. ${advice}` };
}
