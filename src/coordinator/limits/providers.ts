import { type ActorOptions, createActor, type SnapshotFrom } from 'xstate';
import type { AttemptEnd } from '../../../machines/attemptWindow.ts';
import type { ProviderEvent } from '../../../machines/events.ts';
import { mayOpen } from '../../../machines/providerBreaker.ts';
import {
  allowanceOf,
  ceilingOf,
  defaultBreaker,
  hasOpened,
  heedsOutput,
  holdOf,
  isUntroubled,
  letsMore,
  type ProviderLife,
  restoreLife,
} from '../../../machines/providerLife.ts';
import { providerMachine } from '../../../machines/providerMachine.ts';
import type { Config, ProviderConfig } from '../../config/config.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { type Failure, type Fault, tripsBreaker } from '../../domain/failure.ts';
import type { ProviderFleet, ProviderRules, ProviderView, RateLimit } from '../../domain/provider.ts';
import type { ProviderStatus } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import { own } from '../../lib/own.ts';
import type { Change } from '../../store/store.ts';
import { type Deadline, type Deadlines, type EventBus, providerEventType } from '../core/index.ts';
import type { ProviderHolds } from './providerHolds.ts';
import { providerView } from './providerView.ts';

/** An attempt, as far as it matters to its provider. */
export interface ProviderAttempt {
  readonly provider: string;
  readonly model: string | null;
  readonly workerId: string;
  /** Monotonic ms. */
  readonly assignedAt: number;
}

/** What a provider's limits depend on outside of this room. */
export interface ProviderWorkers {
  /** Requests under way at a provider, over all workers. */
  underWay(provider: string): number;
  /** The connected workers that serve it. */
  fleetOf(provider: string): ProviderFleet;
  /** Ids of its workers that are well enough for a job of this model. */
  ableFor(provider: string, model: string | null): readonly string[];
}

type ProviderSnapshot = SnapshotFrom<typeof providerMachine>;

interface Entry {
  readonly actor: ReturnType<typeof createActor<typeof providerMachine>>;
  /** Ends a limited or open time. */
  due: Deadline | null;
  /** Exponential moving average. */
  latencyMs: number | null;
  /** Ends of attempts that succeeded and that the actor does not know of yet, the oldest first. */
  successes: AttemptEnd[];
}

/**
 * Successes that are one event: an event takes 4 µs, and while a provider is untroubled only its window needs to know of them,
 * which is read when an attempt fails or somebody looks.
 */
const successesMax = 32;
/** Weight of the newest attempt in the mean: the last twenty or so count. */
const latencyWeight = 0.1;

/**
 * Every provider that a job has met: hosts their actors, which decide. What happens at a provider becomes an event here, with
 * its settings; the actor's answer becomes a deadline, a stored hold, a live event and a look at the jobs that wait.
 */
export class Providers {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #deadlines: Deadlines;
  readonly #logger: Logger;
  readonly #bus: EventBus;
  readonly #holds: ProviderHolds;
  readonly #workers: ProviderWorkers;
  /** Called when a provider may take more work. */
  readonly #onAvailable: () => void;
  /** How the actor of a provider is observed. */
  readonly #inspect: (name: string) => Pick<ActorOptions<typeof providerMachine>, 'inspect'>;
  readonly #entries = new Map<string, Entry>();

  constructor(options: {
    config: () => Config;
    clock: Clock;
    random: Random;
    deadlines: Deadlines;
    logger: Logger;
    bus: EventBus;
    holds: ProviderHolds;
    workers: ProviderWorkers;
    onAvailable: () => void;
    inspect: (name: string) => Pick<ActorOptions<typeof providerMachine>, 'inspect'>;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#deadlines = options.deadlines;
    this.#logger = options.logger;
    this.#bus = options.bus;
    this.#holds = options.holds;
    this.#workers = options.workers;
    this.#onAvailable = options.onAvailable;
    this.#inspect = options.inspect;
  }

  /**
   * Restore the limits and open breakers of before a restart, until the times that they had then.
   * @param returnsMs within which workers come back. @throws StoreUnavailable.
   */
  async open(returnsMs: number): Promise<void> {
    const returnsUntil = this.#clock.monotonic() + returnsMs;
    for (const hold of await this.#holds.open()) {
      const { name } = hold;
      const restored = restoreLife(hold, this.#rules(name), this.#clock.now(), returnsUntil);
      if (restored === null) {
        this.#holds.note(name, null);
        continue;
      }
      const { status, life } = restored;
      const snapshot = providerMachine.resolveState({ value: status, context: life });
      this.#arm(name, this.#entry(name, snapshot));
    }
  }

  /** Stop, and store what is not stored yet. Never rejects. */
  async close(): Promise<void> {
    for (const { actor } of this.#entries.values()) actor.stop();
    await this.#holds.flush();
  }

  /** Every provider that is configured, was met by a job, or is one of `served`; by name. */
  views(served: Iterable<string>): ProviderView[] {
    const names = new Set([...Object.keys(this.#config().providers), ...this.#entries.keys(), ...served]);
    return [...names].sort().map((name) => this.view(name));
  }

  view(name: string): ProviderView {
    const settings = this.settings(name);
    const entry = this.#entries.get(name);
    if (entry !== undefined) this.#sendSuccesses(name, entry);
    return providerView({
      name,
      isConfigured: settings !== undefined,
      model: settings?.model ?? null,
      status: this.status(name),
      life: this.#life(name),
      rules: this.#rules(name),
      monotonic: this.#clock.monotonic(),
      underWay: this.#workers.underWay(name),
      latencyMs: this.latencyMs(name),
      fleet: this.#workers.fleetOf(name),
    });
  }

  /**
   * Forget what was held against it; durable when it resolves. @param others to commit together with that.
   * @throws StoreUnavailable; what holds it back is as it was then.
   */
  async reset(name: string, others: readonly Change[]): Promise<ProviderView> {
    await this.#holds.clear(name, others);
    this.#send(name, { type: 'provider.reset', at: this.#clock.now() });
    // Also when its state is the same: what held its jobs back is gone.
    this.#onAvailable();
    return this.view(name);
  }

  settings(name: string): ProviderConfig | undefined {
    return own(this.#config().providers, name);
  }

  /** How its limits are waited for: by its own block, else by that for all; null when they fail their jobs. */
  rateLimit(name: string): RateLimit | null {
    return this.settings(name)?.rateLimit ?? this.#config().providerDefaults.rateLimit;
  }

  /** The provider's own ceiling of requests under way; null for none. */
  maxConcurrent(name: string): number | null {
    return this.rateLimit(name)?.maxConcurrent ?? null;
  }

  /** Requests at once that it may have now: its own ceiling, or fewer while it is coming back. null for any number. */
  ceiling(name: string): number | null {
    const life = this.#life(name);
    return life === null ? this.maxConcurrent(name) : ceilingOf(life, this.#rules(name));
  }

  status(name: string): ProviderStatus {
    return this.#entries.get(name)?.actor.getSnapshot().value ?? 'available';
  }

  /** Epoch ms until which nothing is sent; null when it is not known or not so. */
  until(name: string): number | null {
    return this.#life(name)?.until ?? null;
  }

  /** Jobs that it may be sent now, its ceiling of concurrent requests apart. */
  allowance(name: string): number {
    const life = this.#life(name);
    return life === null ? Number.POSITIVE_INFINITY : allowanceOf(this.status(name), life, this.#rules(name));
  }

  /** Whether its breaker has opened, and nothing has succeeded since. */
  hasOpened(name: string): boolean {
    const life = this.#life(name);
    return life !== null && hasOpened(life);
  }

  /** The failure with which its breaker opened last; null when it has not, or something has succeeded since. */
  openedBy(name: string): Failure | null {
    return this.#life(name)?.cause ?? null;
  }

  /** Mean time of its recent attempts that ended well, ms; null before the first. */
  latencyMs(name: string): number | null {
    return this.#entries.get(name)?.latencyMs ?? null;
  }

  /** A job was sent to it. */
  sent(name: string): void {
    if (this.status(name) === 'probing')
      this.#send(name, { type: 'provider.probeSent', at: this.#clock.now() });
  }

  /** An attempt ended well after `tookMs`. */
  completed(attempt: ProviderAttempt, tookMs: number): void {
    const entry = this.#entry(attempt.provider);
    entry.latencyMs =
      entry.latencyMs === null ? tookMs : entry.latencyMs + latencyWeight * (tookMs - entry.latencyMs);
    this.answered(attempt);
  }

  /** An attempt ended with a failure that is the job's own: the provider answered. */
  answered({ provider, workerId }: ProviderAttempt): void {
    const entry = this.#entry(provider);
    entry.successes.push({ at: this.#clock.monotonic(), failed: false, workerId });
    const isUrgent = !isUntroubled(entry.actor.getSnapshot().context);
    if (isUrgent || entry.successes.length === successesMax) this.#sendSuccesses(provider, entry);
  }

  /** Send the actor the successes that it does not know of yet. */
  #sendSuccesses(name: string, entry: Entry): void {
    const earlier = entry.successes.splice(0);
    const last = earlier.pop();
    if (last === undefined) return;
    this.#send(name, {
      type: 'provider.succeeded',
      at: this.#clock.now(),
      monotonic: last.at,
      workerId: last.workerId,
      earlier,
      underWay: this.#workers.underWay(name),
      rules: this.#rules(name),
    });
  }

  /** The first output of an attempt came. That of a probe says that the provider is back, however long the answer takes. */
  streamed({ provider, assignedAt }: ProviderAttempt): void {
    const life = this.#life(provider);
    if (life === null || !heedsOutput(life)) return;
    this.#send(provider, {
      type: 'provider.streamed',
      at: this.#clock.now(),
      began: assignedAt,
      underWay: this.#workers.underWay(provider),
      rules: this.#rules(provider),
    });
  }

  /** An attempt has ended, maybe without the provider's word: cancelled, reaped, released. A probe is sent again then. */
  returned({ provider, assignedAt }: ProviderAttempt): void {
    // Most end while it is not probed.
    if (this.status(provider) !== 'probing') return;
    this.#send(provider, { type: 'provider.probeReturned', at: this.#clock.now(), began: assignedAt });
  }

  /** An attempt failed; `fault` is what that says of its worker. */
  failed(
    attempt: ProviderAttempt,
    failure: Failure & { retryAfterMs: number | null },
    fault: Fault | null,
  ): void {
    const { provider } = attempt;
    if (failure.class === 'rate_limited') {
      this.#send(provider, {
        type: 'provider.limited',
        at: this.#clock.now(),
        askedMs: failure.retryAfterMs,
        jitter: this.#random.next(),
        underWay: this.#workers.underWay(provider),
        rules: this.#rules(provider),
      });
    } else if (tripsBreaker(failure.class, fault)) this.#countFailure(attempt, failure);
    else this.answered(attempt);
  }

  /** A worker of its has come, or is well again: an open breaker need not wait for its time. */
  workerCame(name: string): void {
    if (this.status(name) !== 'open') return;
    this.#send(name, {
      type: 'provider.workerCame',
      at: this.#clock.now(),
      monotonic: this.#clock.monotonic(),
    });
  }

  #countFailure(
    { provider: name, model, workerId }: ProviderAttempt,
    { class: errorClass, code, message, status }: Failure,
  ): void {
    const failed = {
      type: 'provider.failed',
      at: this.#clock.now(),
      monotonic: this.#clock.monotonic(),
      workerId,
      failure: { class: errorClass, code, message, status },
      rules: this.#rules(name),
      ableWorkers: [],
    } as const;
    const entry = this.#entry(name);
    this.#sendSuccesses(name, entry);
    // Which workers are well is asked only when it matters: there may be thousands.
    const matters = mayOpen(entry.actor.getSnapshot().context, failed);
    this.#send(name, matters ? { ...failed, ableWorkers: this.#workers.ableFor(name, model) } : failed);
  }

  #rules(name: string): ProviderRules {
    return { rateLimit: this.rateLimit(name), breaker: this.settings(name)?.breaker ?? defaultBreaker };
  }

  /** null when no job has met it. */
  #life(name: string): ProviderLife | null {
    return this.#entries.get(name)?.actor.getSnapshot().context ?? null;
  }

  #send(name: string, event: ProviderEvent): void {
    const entry = this.#entry(name);
    this.#sendSuccesses(name, entry);
    const before = entry.actor.getSnapshot();
    entry.actor.send(event);
    const now = entry.actor.getSnapshot();
    if (now === before) return;
    const { type, at } = event;
    this.#bus.handled('provider', name, { before: before.value, after: now.value, event: type, at });
    const isMoved = now.value !== before.value;
    if (isMoved || now.context.until !== before.context.until) this.#follow(name, entry, now, at);
    if (isMoved) {
      const { until } = now.context;
      this.#logger.info({ provider: name, from: before.value, to: now.value, until }, 'provider changed');
    }
    if (letsMore(before.context, now.context)) this.#onAvailable();
  }

  /** Its state or its time is another now: keep the deadline and the store in step with it, and publish it. */
  #follow(name: string, entry: Entry, { value, context }: ProviderSnapshot, at: number): void {
    this.#arm(name, entry);
    // While it is probed what is stored is the hold from before: a restart goes on with a probe.
    if (value !== 'probing') this.#holds.note(name, holdOf(value, context));
    this.#bus.publish({ type: providerEventType(value), at, provider: this.view(name) });
  }

  /** Set the deadline that ends a limited or open time, once: a wall clock that is set meanwhile changes nothing. */
  #arm(name: string, entry: Entry): void {
    this.#deadlines.clear(entry.due);
    const { until } = entry.actor.getSnapshot().context;
    entry.due =
      until === null
        ? null
        : this.#deadlines.set(this.#clock.monotonic() + Math.max(0, until - this.#clock.now()), () =>
            this.#send(name, {
              type: 'provider.due',
              at: this.#clock.now(),
              monotonic: this.#clock.monotonic(),
            }),
          );
  }

  /** @param snapshot what a new one begins from; its first state unless given. */
  #entry(name: string, snapshot?: ProviderSnapshot): Entry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const actor = createActor(providerMachine, {
      input: { name, at: this.#clock.now() },
      ...(snapshot === undefined ? {} : { snapshot }),
      ...this.#inspect(name),
    });
    actor.subscribe({
      error: (error) => this.#logger.error({ err: error, provider: name }, 'provider actor failed'),
    });
    actor.start();
    const entry: Entry = { actor, due: null, latencyMs: null, successes: [] };
    this.#entries.set(name, entry);
    return entry;
  }
}
