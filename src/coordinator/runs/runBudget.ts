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

const nothing: Reservation = { estimate: null, release: () => {} };

/**
 * Whether the next job of a run fits its budget. What an attempt may cost is set aside before it starts and settled by what it
 * did cost, so that many slots together do not spend more than the budget.
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
    const { totals, life } = run;
    const { maxCost } = life.limits;
    const starting = this.#starting.get(run.id) ?? { count: 0, nanoDollars: 0 };
    const estimate = this.#estimate(job.request, run, place);
    if (maxCost === null) return estimate === null ? nothing : this.#take(run.id, estimate);
    const isAlone = totals.running + starting.count === 0;
    if (estimate === null) {
      // The first job shows what one costs.
      if (isAlone && totals.unknown === 0) return this.#take(run.id, 0);
      if (isAlone) this.#exhausted(run, unpricedText(place));
      return null;
    }
    if (spentOf(totals) + starting.nanoDollars + estimate <= maxCost) return this.#take(run.id, estimate);
    if (isAlone) this.#exhausted(run, exhaustedText(run, estimate, maxCost));
    return null;
  }

  /** Why a job waits although its run is not paused; null when the budget is not the reason. */
  waitText(job: JobRecord, place: Omit<AttemptPlace, 'workerId'>): string | null {
    const run = job.run === undefined ? undefined : this.#book.find(job.run.runId);
    const maxCost = run?.life.limits.maxCost ?? null;
    if (run === undefined || maxCost === null) return null;
    const estimate = this.#estimate(job.request, run, { ...place, workerId: '' }) ?? 0;
    if (spentOf(run.totals) + estimate <= maxCost) return null;
    return `What run ${run.name} has spent and has set aside for running jobs leaves less of its ${dollars(maxCost)} than this job may cost (${dollars(estimate)})`;
  }

  #take(runId: string, estimate: NanoDollars): Reservation {
    const before = this.#starting.get(runId) ?? { count: 0, nanoDollars: 0 };
    this.#starting.set(runId, { count: before.count + 1, nanoDollars: before.nanoDollars + estimate });
    return { estimate, release: () => this.#giveBack(runId, estimate) };
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
export function meanCostOf({ completed, failed, nanoDollars }: RunRecord['totals']): NanoDollars | null {
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

function exhaustedText({ totals }: RunRecord, estimate: NanoDollars, maxCost: NanoDollars): string {
  return `${dollars(spentOf(totals))} of ${dollars(maxCost)} are spent, and the next job may cost ${dollars(estimate)}; resume the run with a higher max_cost_usd`;
}

function unpricedText({ provider, model }: AttemptPlace): string {
  const what = model === null ? provider : `${provider} ${model}`;
  return `The price of ${what} is not known, so max_cost_usd cannot be kept; set it in pricing of the configuration, or resume the run with max_cost_usd null`;
}

function dollars(nanoDollars: NanoDollars): string {
  return `$${(toDollars(nanoDollars) ?? 0).toFixed(nanoDollars < 1e9 ? 4 : 2)}`;
}
