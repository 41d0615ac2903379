import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import { type JobRecord, lastAttempt, type Target } from '../domain/job.ts';
import type { WorkerLife } from '../domain/worker.ts';
import type { Assignment } from '../domain/workerProtocol.ts';
import type { Logger } from '../lib/log.ts';
import type { Decide, LaneSummary, Store } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import type { JobHost, Step } from './jobHost.ts';
import type { Lease, Leases } from './leases.ts';
import type { Providers } from './providers.ts';
import type { Workers } from './workers.ts';

/** Jobs claimed in one commit at most: bounds the work of one turn of the event loop to some 10 ms. */
const claimSizeMax = 500;
/** A claim that the store refused is tried again after this. */
const storeRetryMs = 500;

interface Claim {
  step: Step;
  lease: Lease;
  release: () => void;
  model: string | null;
}

/**
 * Hands jobs to workers. One pass at a time: it looks at the lanes that have ready jobs, asks the store for as many as
 * there are free slots, lets each job's machine decide, and sends the assignments when the claim is durable. A pass
 * runs when something has changed that may let a job start; nothing is polled.
 */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #host: () => JobHost;
  readonly #leases: Leases;
  readonly #attempts: Attempts;
  readonly #workers: Workers;
  readonly #providers: Providers;
  readonly #isAssigning: () => boolean;
  readonly #logger: Logger;
  #running: Promise<void> | null = null;
  #again = false;

  constructor(options: {
    clock: Clock;
    store: Store;
    host: () => JobHost;
    leases: Leases;
    attempts: Attempts;
    workers: Workers;
    providers: Providers;
    isAssigning: () => boolean;
    logger: Logger;
  }) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#host = options.host;
    this.#leases = options.leases;
    this.#attempts = options.attempts;
    this.#workers = options.workers;
    this.#providers = options.providers;
    this.#isAssigning = options.isAssigning;
    this.#logger = options.logger;
  }

  /** Something has changed that may let a job start. Cheap; calls that come close together share a pass. */
  kick(): void {
    this.#again = true;
    this.#running ??= Promise.resolve().then(() => this.#loop());
  }

  /** Resolves when no pass is under way. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #loop(): Promise<void> {
    try {
      while (this.#again && this.#isAssigning()) {
        this.#again = false;
        await this.#pass();
      }
    } catch (error) {
      this.#logger.error({ error: messageOf(error) }, 'no job could be handed out; trying again');
      this.#clock.after(storeRetryMs, () => this.kick());
    } finally {
      this.#running = null;
    }
  }

  async #pass(): Promise<void> {
    const slots = this.#workers.connected().reduce((sum, { id }) => sum + this.#slots(id), 0);
    if (slots === 0) return;
    const open = new Map<string, WorkerLife[]>();
    for (const lane of await this.#store.lanes()) {
      const takers = this.#takers(lane);
      if (takers.length > 0) open.set(lane.key, takers);
    }
    if (open.size === 0) return;
    const claims = new Map<string, Claim>();
    const limit = Math.min(slots, claimSizeMax);
    try {
      const committed = await this.#store.claim(
        { lanes: [...open.keys()], limit },
        this.#decide(open, claims),
      );
      for (const change of committed) {
        const claim = claims.get(change.id);
        if (claim === undefined) continue;
        claims.delete(change.id);
        this.#hand(claim);
      }
      if (committed.length === limit) this.#again = true;
    } finally {
      // Whatever was decided and is not durable has not happened.
      for (const { step, lease, release } of claims.values()) {
        this.#host().abandon(step);
        this.#attempts.unreserve(lease);
        release();
      }
    }
  }

  #decide(open: ReadonlyMap<string, WorkerLife[]>, claims: Map<string, Claim>): Decide {
    return (job, laneKey) => {
      if (this.#host().isBusy(job.id)) return 'skip';
      const { target } = job.life;
      const worker = this.#leastBusy(open.get(laneKey) ?? []);
      if (worker === null || this.#room(target.provider) <= 0) return 'close';
      const model = this.modelOf(target);
      const step = this.#host().step(job, {
        type: 'job.assigned',
        at: this.#clock.now(),
        workerId: worker.id,
        provider: target.provider,
        model,
        why: `${worker.name} had a free slot`,
      });
      if (step === null) return 'skip';
      const lease = this.#attempts.reserve(job, worker.id, target.provider);
      this.#providers.sent(target.provider);
      claims.set(job.id, { step, lease, model, release: this.#host().hold(job.id) });
      return step.change;
    };
  }

  /** The claim is durable: out with the assignment. */
  #hand({ step, lease, release, model }: Claim): void {
    const { after, effects } = this.#host().settle(step);
    release();
    if (!effects.some(({ type }) => type === 'handToWorker')) return;
    const session = this.#workers.session(lease.workerId);
    if (session === null) this.#attempts.undelivered(lease);
    else session.assign(assignment(after, model, lease.timeoutMs / 1000));
  }

  /** The model a job of this target runs on: its own, else the provider's default. */
  modelOf(target: Target): string | null {
    return target.model ?? this.#providers.settings(target.provider)?.model ?? null;
  }

  /**
   * The connected workers that fit a target, whatever their state. When some worker of the provider advertises the
   * model, only such workers fit; when none does, any of the provider does.
   */
  fitting(target: Target): WorkerLife[] {
    const ofProvider = this.#workers
      .connected()
      .filter(({ providers }) => providers.includes(target.provider));
    const model = this.modelOf(target);
    const advertising =
      model === null
        ? []
        : ofProvider.filter(({ models }) => models[target.provider]?.includes(model) === true);
    return (advertising.length > 0 ? advertising : ofProvider).filter(
      ({ name, tags }) =>
        (target.worker === null || name === target.worker) &&
        (target.workerTag === null || tags.includes(target.workerTag)),
    );
  }

  /** Requests that a provider may still be sent now. */
  #room(provider: string): number {
    const ceiling = this.#providers.maxConcurrent(provider) ?? Number.POSITIVE_INFINITY;
    return Math.min(ceiling - this.#leases.ofProvider(provider), this.#providers.allowance(provider));
  }

  #takers({ target }: LaneSummary): WorkerLife[] {
    if (this.#room(target.provider) <= 0) return [];
    return this.fitting(target).filter(({ id }) => this.#slots(id) > 0);
  }

  #slots(workerId: string): number {
    return this.#workers.isAssignable(workerId) ? this.#workers.freeSlots(workerId) : 0;
  }

  /** The worker with the smallest share of its slots taken; null when none has one free. */
  #leastBusy(workers: readonly WorkerLife[]): WorkerLife | null {
    let best: WorkerLife | null = null;
    let bestLoad = 1;
    for (const worker of workers) {
      if (this.#slots(worker.id) <= 0) continue;
      const load = this.#leases.held(worker.id) / worker.concurrency;
      if (load < bestLoad) {
        best = worker;
        bestLoad = load;
      }
    }
    return best;
  }
}

function assignment(job: JobRecord, model: string | null, timeoutSeconds: number): Assignment {
  const { prompt, input, messages, params } = job.request;
  return {
    job_id: job.id,
    lease: job.life.lease,
    attempt: job.life.attempts.length,
    prompt,
    input,
    messages,
    params,
    provider: lastAttempt(job.life)?.provider ?? job.life.target.provider,
    model,
    timeout_seconds: timeoutSeconds,
  };
}
