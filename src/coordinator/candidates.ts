import { candidatesOf, type JobLife, laneKey, type Target } from '../domain/job.ts';
import type { WorkerLife } from '../domain/worker.ts';
import { own } from '../lib/own.ts';
import type { Member } from '../routing/member.ts';
import { strategies } from '../routing/strategies/index.ts';
import type { Leases } from './leases.ts';
import type { Providers } from './providers.ts';
import { type FleetMember, passOver, type Workers } from './workers.ts';

/** Chains whose turns are remembered; beyond it they start again, which only costs a little evenness. */
const turnsMax = 10_000;
/** Targets whose fitting workers are remembered. */
const fittingMax = 1_000;

/** Dollars a million input and output tokens together; null when nobody knows. */
export type PriceOf = (provider: string, model: string | null) => number | null;

/** A candidate as it stands now, with the workers that could take the job. */
export interface Candidate extends Member {
  /** Connected workers that fit, whatever their state; without those that are passed over. */
  fitting: readonly FleetMember[];
}

/** The fleet as the routing sees it: which candidates of a job could run it now, and which one does. */
export class Candidates {
  readonly #leases: Leases;
  readonly #providers: Providers;
  readonly #workers: Workers;
  readonly #priceOf: PriceOf;
  /** Assignments of a lane, for strategies that take turns. */
  readonly #turns = new Map<string, number>();
  /** The workers that fit, by target and model, of the fleet that they were chosen from. */
  readonly #fitting = new Map<string, readonly FleetMember[]>();
  #fleet: readonly FleetMember[] = [];

  constructor(options: { leases: Leases; providers: Providers; workers: Workers; priceOf: PriceOf }) {
    this.#leases = options.leases;
    this.#providers = options.providers;
    this.#workers = options.workers;
    this.#priceOf = options.priceOf;
  }

  /** Every candidate of a job, in order. */
  of(life: Pick<JobLife, 'target' | 'chain'>): Candidate[] {
    const isChain = life.chain.length > 0;
    return candidatesOf(life).map((target) => this.#candidate(target, isChain));
  }

  /** The one that runs the job, or that it waits for when that is busy; null when all of them are skipped. */
  pick(life: Pick<JobLife, 'strategy'>, lane: string, candidates: readonly Candidate[]): Candidate | null {
    const picked = strategies[life.strategy](candidates, this.#turns.get(lane) ?? 0);
    return candidates.find((candidate) => candidate === picked) ?? null;
  }

  /** A job of the lane was handed out. */
  took(lane: string): void {
    if (this.#turns.size >= turnsMax) this.#turns.clear();
    this.#turns.set(lane, (this.#turns.get(lane) ?? 0) + 1);
  }

  /** The fitting worker with the smallest share of its slots taken; null when none has one free. */
  leastBusy({ fitting }: Candidate): WorkerLife | null {
    let best: WorkerLife | null = null;
    let bestLoad = 1;
    for (const { life, isTaking } of fitting) {
      // A worker without slots has a load of NaN or more.
      const load = isTaking ? this.#leases.held(life.id) / life.concurrency : 1;
      if (load < bestLoad) {
        best = life;
        bestLoad = load;
      }
    }
    return best;
  }

  /** Slots of all workers together that could take a job now. */
  freeSlots(): number {
    return this.#workers
      .fleet()
      .reduce((sum, { life, isTaking }) => sum + (isTaking ? this.#workers.freeSlots(life) : 0), 0);
  }

  #candidate(target: Target, isChain: boolean): Candidate {
    const { provider } = target;
    const model = target.model ?? this.#providers.settings(provider)?.model ?? null;
    const fitting = this.#fittingOf(target, model);
    const taken = { slots: 0, held: 0, isFull: true };
    for (const { life, isTaking } of fitting) {
      if (!isTaking) continue;
      const held = this.#leases.held(life.id);
      taken.slots += life.concurrency;
      taken.held += held;
      if (held < life.concurrency) taken.isFull = false;
    }
    return {
      target,
      model,
      fitting,
      ...this.#state(provider, fitting.length, taken, isChain),
      load: taken.slots === 0 ? 1 : taken.held / taken.slots,
      price: this.#priceOf(provider, model),
      latencyMs: this.#providers.latencyMs(provider),
    };
  }

  #state(
    provider: string,
    fitting: number,
    { slots, isFull }: { slots: number; isFull: boolean },
    isChain: boolean,
  ): Pick<Member, 'state' | 'why' | 'until'> {
    if (fitting === 0) return { state: 'skipped', why: 'no connected worker fits', until: null };
    if (slots === 0) {
      return {
        state: 'skipped',
        why: 'its workers take no work (paused, draining, silent or 0 slots)',
        until: null,
      };
    }
    const until = this.#providers.until(provider);
    const status = this.#providers.status(provider);
    // A limit without rate_limit settings stops nobody who has no choice; a chain has one.
    if (this.#providers.allowance(provider) <= 0 || (isChain && status === 'limited')) {
      const why = status === 'open' ? 'its circuit breaker is open' : 'it answered 429 and is limited';
      return { state: 'skipped', why: status === 'probing' ? 'it is being probed' : why, until };
    }
    const ceiling = this.#providers.ceiling(provider);
    if (ceiling !== null && this.#leases.ofProvider(provider) >= ceiling) {
      return {
        state: 'busy',
        why: `it has ${ceiling} requests under way, as many as it may now`,
        until: null,
      };
    }
    if (isFull) {
      return { state: 'busy', why: 'every slot of its workers is taken', until: null };
    }
    return { state: 'ready', why: 'a worker has a free slot', until: null };
  }

  #fittingOf(target: Target, model: string | null): readonly FleetMember[] {
    const fleet = this.#workers.fleet();
    if (fleet !== this.#fleet || this.#fitting.size >= fittingMax) this.#fitting.clear();
    this.#fleet = fleet;
    const key = `${laneKey(target)} ${model}`;
    const known = this.#fitting.get(key);
    if (known !== undefined) return known;
    const fitting = passOver(fittingIn(fleet, target, model), target.provider);
    this.#fitting.set(key, fitting);
    return fitting;
  }
}

/**
 * The workers that fit a target. When some worker of the provider advertises the model, only such workers fit; when none
 * does, any of the provider does.
 */
function fittingIn(fleet: readonly FleetMember[], target: Target, model: string | null): FleetMember[] {
  const { provider, worker, workerTag } = target;
  const ofProvider = fleet.filter(({ life }) => life.providers.includes(provider));
  const advertising =
    model === null
      ? []
      : ofProvider.filter(({ life }) => own(life.models, provider)?.includes(model) === true);
  return (advertising.length > 0 ? advertising : ofProvider).filter(
    ({ life: { name, tags } }) =>
      (worker === null || name === worker) && (workerTag === null || tags.includes(workerTag)),
  );
}
