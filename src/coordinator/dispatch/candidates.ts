import type { Others } from '../../domain/failure.ts';
import { candidatesOf, type JobLife, laneKey, lastAttempt, type Target } from '../../domain/job.ts';
import type { WorkerLife } from '../../domain/worker.ts';
import { own } from '../../lib/own.ts';
import type { Member } from '../../routing/member.ts';
import { strategies } from '../../routing/strategies/index.ts';
import { type FleetMember, isAble, isOpen, type Leases, passOver, type Workers } from '../fleet/index.ts';

import type { Providers } from '../limits/index.ts';

/** Chains whose turns are remembered; beyond it they start again, which only costs a little evenness. */
const turnsMax = 10_000;
/** Targets whose fitting workers are remembered. */
const fittingMax = 1_000;

/** Dollars a million input and output tokens together; null when unknown. */
export type PriceOf = (provider: string, model: string | null) => number | null;

/** A candidate as it stands now, with the workers that could take the job. */
export interface Candidate extends Member {
  /** Connected workers that fit, whatever their state; without those that are passed over. */
  fitting: readonly FleetMember[];
  /** Those that are passed over. */
  unwell: readonly FleetMember[];
  /** Whether only free slots are missing: a worker may hold a job until it has one. */
  mayBeHeld: boolean;
}

type Fitting = Pick<Candidate, 'fitting' | 'unwell'>;
type Standing = Pick<Member, 'state' | 'why' | 'until'>;

const slotsTaken: Standing = { state: 'busy', why: 'every slot of its workers is taken', until: null };

/** The fleet as the routing sees it: which candidates of a job could run it now, and which one does. */
export class Candidates {
  readonly #leases: Leases;
  readonly #providers: Providers;
  readonly #workers: Workers;
  readonly #priceOf: PriceOf;
  /** Assignments of a lane, for strategies that take turns. */
  readonly #turns = new Map<string, number>();
  /** The workers that fit, by target and model, of the fleet that they were chosen from. */
  readonly #fitting = new Map<string, Fitting>();
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

  /**
   * The worker that gets a job of this candidate: the one with the smallest share of its slots taken or, when none has a
   * free slot, the one that may hold the most beyond its slots; null when there is none.
   * @param tried workers that are left for the last: the job has failed on them.
   */
  workerFor({ fitting, state, mayBeHeld }: Candidate, tried = none): WorkerLife | null {
    if (state !== 'ready' && !mayBeHeld) return null;
    if (tried.size === 0) return this.#leastBusyOf(fitting) ?? this.#mostAheadOf(fitting);
    const untried = fitting.filter(({ life }) => !tried.has(life.id));
    return (
      this.#leastBusyOf(untried) ??
      this.#mostAheadOf(untried) ??
      this.#leastBusyOf(fitting) ??
      this.#mostAheadOf(fitting)
    );
  }

  #mostAheadOf(members: readonly FleetMember[]): WorkerLife | null {
    let best: WorkerLife | null = null;
    let most = 0;
    for (const { life, isTaking } of members) {
      const room = isTaking ? this.#workers.roomAhead(life) : 0;
      if (room <= most) continue;
      best = life;
      most = room;
    }
    return best;
  }

  #leastBusyOf(members: readonly FleetMember[]): WorkerLife | null {
    let best: WorkerLife | null = null;
    let bestLoad = 1;
    for (const { life, isTaking } of members) {
      // A worker without slots has a load of NaN or more.
      const load = isTaking ? this.#leases.held(life.id) / life.concurrency : 1;
      if (load < bestLoad) {
        best = life;
        bestLoad = load;
      }
    }
    return best;
  }

  /** The other workers that fit a job at the provider of its last attempt. */
  others(life: JobLife): Others {
    const attempt = lastAttempt(life);
    const target = candidatesOf(life).find(({ provider }) => provider === attempt?.provider);
    if (attempt === undefined || target === undefined) return { able: false, untried: false };
    const { provider, model, workerId } = attempt;
    const tried = triedAt(life, provider);
    const others = fittingIn(this.#workers.fleet(), target, model).filter(
      (member) => member.life.id !== workerId && isOpen(member),
    );
    return {
      able: others.some(({ health }) => health.standing(provider, model) !== 'refused'),
      untried: others.some((member) => !tried.has(member.life.id) && isAble(member, provider, model)),
    };
  }

  /** Jobs that all workers together could take now, in their slots and beyond them. */
  room(): number {
    let room = 0;
    for (const { life, isTaking } of this.#workers.fleet())
      if (isTaking) room += this.#workers.freeSlots(life) + this.#workers.roomAhead(life);
    return room;
  }

  #candidate(target: Target, isChain: boolean): Candidate {
    const { provider } = target;
    const model = target.model ?? this.#providers.settings(provider)?.model ?? null;
    const { fitting, unwell } = this.#fittingOf(target, model);
    const taken = { slots: 0, held: 0, isFull: true };
    for (const { life, isTaking } of fitting) {
      if (!isTaking) continue;
      const held = this.#leases.held(life.id);
      taken.slots += life.concurrency;
      taken.held += held;
      if (held < life.concurrency) taken.isFull = false;
    }
    const standing = this.#state({ target, model, fitting, unwell }, taken, isChain);
    return {
      target,
      model,
      fitting,
      unwell,
      ...standing,
      mayBeHeld: standing === slotsTaken,
      load: taken.slots === 0 ? 1 : taken.held / taken.slots,
      price: this.#priceOf(provider, model),
      latencyMs: this.#providers.latencyMs(provider),
    };
  }

  #state(
    { target: { provider }, model, fitting, unwell }: Pick<Candidate, 'target' | 'model' | keyof Fitting>,
    { slots, isFull }: { slots: number; isFull: boolean },
    isChain: boolean,
  ): Standing {
    if (slots === 0 && unwell.some(isOpen)) {
      const why = 'its workers are set aside after failures';
      return { state: 'skipped', why, until: firstTrial(unwell, provider, model) };
    }
    if (fitting.length === 0) return { state: 'skipped', why: 'no connected worker fits', until: null };
    if (slots === 0) {
      return {
        state: 'skipped',
        why: 'its workers take no work (paused, draining, silent or 0 slots)',
        until: null,
      };
    }
    const until = this.#providers.until(provider);
    const status = this.#providers.status(provider);
    // A limit without rate_limit settings does not stop a job without alternatives; a chain has some.
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
    if (isFull) return slotsTaken;
    return { state: 'ready', why: 'a worker has a free slot', until: null };
  }

  #fittingOf(target: Target, model: string | null): Fitting {
    const fleet = this.#workers.fleet();
    if (fleet !== this.#fleet || this.#fitting.size >= fittingMax) this.#fitting.clear();
    this.#fleet = fleet;
    const key = `${laneKey(target)} ${model}`;
    const known = this.#fitting.get(key);
    if (known !== undefined) return known;
    const all = fittingIn(fleet, target, model);
    const fitting = passOver(all, target.provider, model);
    const unwell = fitting.length === all.length ? [] : all.filter((member) => !fitting.includes(member));
    const found = { fitting, unwell };
    this.#fitting.set(key, found);
    return found;
  }
}

/** Workers on which a job has failed at a provider; hardly any job has any. */
export function triedAt({ attempts }: JobLife, provider: string): ReadonlySet<string> {
  if (attempts.length === 0) return none;
  const failed = attempts.filter((attempt) => attempt.outcome === 'failed' && attempt.provider === provider);
  return new Set(failed.map(({ workerId }) => workerId));
}

const none: ReadonlySet<string> = new Set();

/** Epoch ms when the first of them is tried again; null when that is under way or unknown. */
export function firstTrial(
  members: readonly FleetMember[],
  provider: string,
  model: string | null,
): number | null {
  const times = members.flatMap(({ health }) => health.until(provider, model) ?? []);
  return times.length === 0 ? null : Math.min(...times);
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
