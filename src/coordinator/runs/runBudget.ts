import type { Pricing } from '../../cost/pricing.ts';
import type { Clock } from '../../domain/clock.ts';
import type { JobRecord, JobRequest } from '../../domain/job.ts';
import { type NanoDollars, toDollars } from '../../domain/money.ts';
import { type RunRecord, spentOf } from '../../domain/run.ts';
import { usageFromWire } from '../../domain/usage.ts';
import type { RunBook } from './runBook.ts';

/** Bytes of text that a token has at least in most languages: English has four, so an estimate errs upwards. */
const bytesPerToken = 3;
/** Output of a request that does not bound it. */
const outputTokensDefault = 1_024;
/** Names by which providers know the bound of the output. */
const outputBounds = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'num_predict'];

/** Where an attempt would run. */
export interface AttemptPlace {
  workerId: string;
  provider: string;
  model: string | null;
}

/** Money that is set aside for an attempt. */
export interface Reservation {
  /** null outside of runs, and when nothing is known about its cost. */
  estimate: NanoDollars | null;
  /** The attempt is durable, and counted by the totals from now on; or there will be none. */
  release: () => void;
}

/** Jobs of a run with a budget that run at once before one has shown what they cost; two more for each that has ended. */
const firstJobs = 5;

/** What an attempt may cost; null when nothing is known of it. */
interface Estimate {
  estimate: NanoDollars | null;
}

const nothing: Reservation = { estimate: null, release: () => {} };

/**
 * Whether the next job of a run fits its budget. What an attempt may cost is set aside before it starts and settled by what it
 * did cost, so that many slots together do not spend more than the budget. Estimates can be too low, as for pictures: until
 * jobs have ended only a few run at once, and from then on none is estimated below their mean.
 */
export class RunBudget {
  readonly #clock: Clock;
  readonly #book: RunBook;
  readonly #pricing: Pricing;
  readonly #isFree: (workerId: string, provider: string) => boolean;
  /** Called when a job cannot start because of the budget, and nothing of the run is under way that could change that. */
  readonly #exhausted: (run: RunRecord, detail: string) => void;
  /** Attempts whose commit is under way, by run. */
  readonly #starting = new Map<string, { count: number; nanoDollars: NanoDollars }>();

  constructor(options: {
    clock: Clock;
    book: RunBook;
    pricing: Pricing;
    isFree: (workerId: string, provider: string) => boolean;
    exhausted: (run: RunRecord, detail: string) => void;
  }) {
    this.#clock = options.clock;
    this.#book = options.book;
    this.#pricing = options.pricing;
    this.#isFree = options.isFree;
    this.#exhausted = options.exhausted;
  }

  /** Whether jobs of a run may start at all. @param runId null for jobs outside of runs. */
  isOpen(runId: string | null): boolean {
    if (runId === null) return true;
    const run = this.#book.find(runId);
    // A run that was forgotten holds nothing back.
    return run === undefined || run.state === 'running' || run.state === 'completed';
  }

  /** Set money aside for an attempt. @returns null when the job must wait. */
  reserve(job: JobRecord, place: AttemptPlace): Reservation | null {
    const run = job.run === undefined ? undefined : this.#book.find(job.run.runId);
    if (run === undefined) return nothing;
    if (!this.isOpen(run.id)) return null;
    const decision = this.#decide(job.request, run, place);
    if (typeof decision !== 'string') return this.#take(run.id, decision);
    // While some of its jobs run, they may yet cost less than was set aside for them.
    if (this.#underWay(run) === 0) this.#exhausted(run, decision);
    return null;
  }

  /** Why a job waits although its run is not paused; null when the budget is not the reason. */
  waitText(job: JobRecord, place: Omit<AttemptPlace, 'workerId'>): string | null {
    const run = job.run === undefined ? undefined : this.#book.find(job.run.runId);
    const decision = run === undefined ? null : this.#decide(job.request, run, { ...place, workerId: '' });
    return typeof decision === 'string' ? decision : null;
  }

  /** @returns what to set aside, null when that is not known; or why the job may not start now. */
  #decide(request: JobRequest, run: RunRecord, place: AttemptPlace): Estimate | string {
    const { totals, life } = run;
    const { maxCost } = life.limits;
    const estimate = this.#estimate(request, run, place);
    if (maxCost === null || estimate === 0) return { estimate };
    const underWay = this.#underWay(run);
    if (estimate === null) {
      // The first job shows what one costs.
      return underWay === 0 && totals.unknown === 0 ? { estimate } : unpricedText(place);
    }
    const spent = spentOf(totals) + (this.#starting.get(run.id)?.nanoDollars ?? 0);
    if (spent + estimate > maxCost) return exhaustedText(spent, estimate, maxCost);
    if (underWay >= firstJobs + 2 * (totals.completed + totals.failed)) return slowStartText(run);
    return { estimate };
  }

  /** Attempts of a run that run, or whose commit is under way. */
  #underWay({ id, totals }: RunRecord): number {
    return totals.running + (this.#starting.get(id)?.count ?? 0);
  }

  #take(runId: string, { estimate }: Estimate): Reservation {
    const before = this.#starting.get(runId) ?? { count: 0, nanoDollars: 0 };
    const amount = estimate ?? 0;
    this.#starting.set(runId, { count: before.count + 1, nanoDollars: before.nanoDollars + amount });
    return { estimate, release: () => this.#giveBack(runId, amount) };
  }

  #giveBack(runId: string, estimate: NanoDollars): void {
    const { count, nanoDollars } = this.#starting.get(runId) ?? { count: 1, nanoDollars: estimate };
    if (count <= 1) this.#starting.delete(runId);
    else this.#starting.set(runId, { count: count - 1, nanoDollars: nanoDollars - estimate });
  }

  /**
   * What an attempt may cost: its price at the bound of its output, or what the run's jobs have cost on average where that is
   * more. null when neither is known.
   */
  #estimate(request: JobRequest, { totals }: RunRecord, place: AttemptPlace): NanoDollars | null {
    const { workerId, provider, model } = place;
    const usage = usageFromWire({
      input_tokens: inputTokensOf(request),
      output_tokens: outputTokensOf(request.params),
    });
    const isFree = this.#isFree(workerId, provider);
    const { nanoDollars } = this.#pricing.costOf({ provider, model, usage, at: this.#clock.now(), isFree });
    const mean = meanCostOf(totals);
    if (nanoDollars === null) return mean;
    return Math.max(nanoDollars, mean ?? 0);
  }
}

/** What a job that has ended has cost on average; null before the first whose cost is known. */
function meanCostOf({ completed, failed, nanoDollars }: RunRecord['totals']): NanoDollars | null {
  const ended = completed + failed;
  return ended === 0 || nanoDollars === 0 ? null : Math.ceil(nanoDollars / ended);
}

function inputTokensOf({ prompt, input, messages }: JobRequest): number {
  const bytes =
    Buffer.byteLength(prompt ?? '') +
    Buffer.byteLength(input ?? '') +
    (messages === null ? 0 : Buffer.byteLength(JSON.stringify(messages)));
  return Math.ceil(bytes / bytesPerToken);
}

function outputTokensOf(params: Record<string, unknown>): number {
  for (const name of outputBounds) {
    const bound = params[name];
    if (typeof bound === 'number' && bound > 0) return Math.ceil(bound);
  }
  return outputTokensDefault;
}

function exhaustedText(spent: NanoDollars, estimate: NanoDollars, maxCost: NanoDollars): string {
  return `${dollars(spent)} of ${dollars(maxCost)} are spent or set aside, and the next job may cost ${dollars(estimate)}; resume the run with a higher max_cost_usd`;
}

function slowStartText({ name }: RunRecord): string {
  return `Run ${name} has a budget and starts with few jobs at once, until they show what one costs`;
}

function unpricedText({ provider, model }: AttemptPlace): string {
  const what = model === null ? provider : `${provider} ${model}`;
  return `The price of ${what} is not known, so max_cost_usd cannot be kept; set it in pricing of the configuration, or resume the run with max_cost_usd null`;
}

function dollars(nanoDollars: NanoDollars): string {
  return `$${(toDollars(nanoDollars) ?? 0).toFixed(nanoDollars < 1e9 ? 4 : 2)}`;
}
