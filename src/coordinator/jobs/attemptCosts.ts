import type { Pricing } from '../../cost/pricing.ts';
import type { Clock } from '../../domain/clock.ts';
import { type ErrorClass, type Fault, isUnrun, type ReportedFailure } from '../../domain/failure.ts';
import { type Attempt, type JobRecord, lastAttempt } from '../../domain/job.ts';
import { type Cost, noCost } from '../../domain/money.ts';
import { modelOf, type Outcome, usageOf } from './outcome.ts';

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

/** What attempts cost. */
export class AttemptCosts {
  readonly #clock: Clock;
  readonly #pricing: Pricing;
  readonly #isFree: (workerId: string, provider: string) => boolean;

  constructor(options: {
    clock: Clock;
    pricing: Pricing;
    /** Whether a connected worker says that a provider charges it nothing. */
    isFree: (workerId: string, provider: string) => boolean;
  }) {
    this.#clock = options.clock;
    this.#pricing = options.pricing;
    this.#isFree = options.isFree;
  }

  /** What an attempt costs by its worker's last word. One that has ended is priced by the time of its end. */
  of(attempt: Attempt, outcome: Outcome, fault: Fault | null, at: number): Cost {
    const { provider, model, workerId, finishedAt } = attempt;
    const usage = usageOf(outcome);
    if (usage === null && isNothing(outcome, fault)) return noCost;
    const reportedModel = modelOf(outcome);
    const isFree = this.#isFree(workerId, provider);
    return this.#pricing.costOf({ provider, model, reportedModel, usage, at: finishedAt ?? at, isFree });
  }

  /**
   * What the running attempt of a job costs when it ends without a report of its worker: the provider may have charged for
   * it, so this is unknown, unless the provider is free. The usage that the worker reports later replaces it.
   */
  unreported(job: JobRecord): Cost {
    const attempt = lastAttempt(job.life);
    if (attempt === undefined) return noCost;
    const { provider, model, workerId } = attempt;
    const isFree = this.#isFree(workerId, provider);
    return this.#pricing.costOf({ provider, model, usage: null, at: this.#clock.now(), isFree });
  }
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
