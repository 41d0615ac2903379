import { createActor, type SnapshotFrom } from 'xstate';
import type { ProviderEvent } from '../../../machines/events.ts';
import { providerMachine } from '../../../machines/providerMachine.ts';
import type { Config, ProviderConfig } from '../../config/config.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { brief, type Failure, type Fault, tripsBreaker } from '../../domain/failure.ts';
import type {
  BreakerSettings,
  BreakerView,
  ProviderFleet,
  ProviderHold,
  ProviderView,
  RateLimit,
} from '../../domain/provider.ts';
import type { ProviderStatus } from '../../domain/states.ts';
import type { Logger } from '../../lib/log.ts';
import { own } from '../../lib/own.ts';
import type { Change } from '../../store/store.ts';
import type { Deadline, Deadlines } from '../deadlines.ts';
import { type EventBus, providerEventType } from '../eventBus.ts';
import type { Lease, Leases } from '../fleet/index.ts';
import { type Inspector, inspectOption } from '../observe/index.ts';
import type { ProviderHolds } from './providerHolds.ts';

type ProviderActor = ReturnType<typeof createActor<typeof providerMachine>>;

interface Entry {
  readonly actor: ProviderActor;
  /** Ends of attempts inside the breaker's window, oldest first; monotonic ms. */
  window: { at: number; failed: boolean; workerId: string }[];
  due: Deadline | null;
  /** The last failure that counted while its breaker was not open: the one that opened it, when it has. */
  openedBy: Failure | null;
  /** Exponential moving average. */
  latencyMs: number | null;
  /** Monotonic ms; later than any attempt while it is not probing. */
  probingSince: number;
  /** Whether its present state is that of before a restart. */
  isTakenUp: boolean;
  /** Requests at once since it is back from a limit or a failure; null when that bounds nothing any more. */
  ramp: number | null;
}

/** Attempts that a breaker remembers at most; beyond that the oldest go, however long the window. */
const windowSizeMax = 1000;
const defaultBreaker: BreakerSettings = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
/** Weight of the newest attempt in the mean: the last twenty or so count. */
const latencyWeight = 0.1;
/**
 * After a probe has got through, one request more than are under way, and one more with each that gets through: twice as
 * many with each round of answers, as TCP begins a connection. All that waits, at once, would meet a tight limit again:
 * nine of ten requests were 429 so, and jobs ran out of retries. From so many on nothing is counted any more.
 */
const rampTo = 1_000;
/** A limit is never shorter than what was asked for, and up to a tenth longer, so that waiters do not return as one. */
const jitterShare = 0.1;
/** What ended so long before a start is not taken up: nobody may ever ask that provider again. */
const forgottenAfterMs = 600_000;

/** Every provider that a job has met: whether it may be sent work. */
export class Providers {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #deadlines: Deadlines;
  readonly #logger: Logger;
  readonly #bus: EventBus;
  readonly #leases: Leases;
  readonly #inspector: Inspector | null;
  readonly #holds: ProviderHolds;
  /** The connected workers that serve a provider. */
  readonly #fleet: (name: string) => ProviderFleet;
  /** Ids of its workers that are well enough for a job of this model. */
  readonly #ableWorkers: (name: string, model: string | null) => readonly string[];
  /** Called when a provider may take work again. */
  readonly #onAvailable: () => void;
  readonly #entries = new Map<string, Entry>();
  /** Until then workers come back after a restart, which says nothing of their providers; monotonic ms. */
  #returnsUntil = Number.NEGATIVE_INFINITY;

  constructor(options: {
    config: () => Config;
    clock: Clock;
    random: Random;
    deadlines: Deadlines;
    logger: Logger;
    bus: EventBus;
    leases: Leases;
    inspector: Inspector | null;
    holds: ProviderHolds;
    fleet: (name: string) => ProviderFleet;
    ableWorkers: (name: string, model: string | null) => readonly string[];
    onAvailable: () => void;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#deadlines = options.deadlines;
    this.#logger = options.logger;
    this.#bus = options.bus;
    this.#leases = options.leases;
    this.#inspector = options.inspector;
    this.#holds = options.holds;
    this.#fleet = options.fleet;
    this.#ableWorkers = options.ableWorkers;
    this.#onAvailable = options.onAvailable;
  }

  /**
   * Take up the limits and open breakers of before a restart, until the times that they had then.
   * @param returnsMs within which workers come back. @throws StoreUnavailable.
   */
  async open(returnsMs: number): Promise<void> {
    this.#returnsUntil = this.#clock.monotonic() + returnsMs;
    for (const hold of await this.#holds.open()) {
      if (hold.until + forgottenAfterMs < this.#clock.now()) this.#holds.note(hold.name, null);
      else this.#takeUp(hold);
    }
  }

  #takeUp({ name, status, until, changedAt, limitsInRow, opensInRow, cause }: ProviderHold): void {
    // Never longer than it would be from now on: the wall clock may have been set back, or the configuration be another.
    const most =
      this.#clock.now() +
      (status === 'open' ? this.#breaker(name).openSeconds * 1000 : this.#limitMsMax(name));
    const context = {
      name,
      until: Math.min(until, most),
      limitsInRow,
      opensInRow,
      probeSent: false,
      changedAt,
    };
    const entry = this.#entry(name, providerMachine.resolveState({ value: status, context }));
    entry.openedBy = cause;
    entry.isTakenUp = true;
    this.#arm(name, entry);
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
    const life = this.#entries.get(name)?.actor.getSnapshot().context;
    return {
      name,
      isConfigured: settings !== undefined,
      status: this.status(name),
      until: this.until(name),
      changedAt: life?.changedAt ?? null,
      running: this.#leases.ofProvider(name),
      maxConcurrent: this.maxConcurrent(name),
      latencyMs: this.latencyMs(name),
      model: settings?.model ?? null,
      rateLimit: this.rateLimit(name),
      limitsInRow: life?.limitsInRow ?? 0,
      breaker: this.#breakerView(name, life?.opensInRow ?? 0),
      fleet: this.#fleet(name),
    };
  }

  #breakerView(name: string, opensInRow: number): BreakerView {
    const breaker = this.#breaker(name);
    const from = this.#clock.monotonic() - breaker.windowSeconds * 1000;
    const window = (this.#entries.get(name)?.window ?? []).filter(({ at }) => at > from);
    const failed = window.filter((end) => end.failed).length;
    return { ...breaker, attempts: window.length, failed, opensInRow, openedBy: this.openedBy(name) };
  }

  /**
   * Forget what was held against it; durable when it resolves. @param others to commit together with that.
   * @throws StoreUnavailable; what holds it back is as it was then.
   */
  async reset(name: string, others: readonly Change[]): Promise<ProviderView> {
    await this.#holds.clear(name, others);
    const entry = this.#entry(name);
    entry.window = [];
    entry.ramp = null;
    this.#send(name, { type: 'provider.reset', at: this.#clock.now() });
    // Its state may be the same, and what held its jobs back is gone.
    this.#onAvailable();
    return this.view(name);
  }

  settings(name: string): ProviderConfig | undefined {
    return own(this.#config().providers, name);
  }

  #breaker(name: string): BreakerSettings {
    return this.settings(name)?.breaker ?? defaultBreaker;
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
    const ramp = this.#entries.get(name)?.ramp ?? null;
    const most = this.maxConcurrent(name);
    return ramp === null || most === null ? (ramp ?? most) : Math.min(ramp, most);
  }

  status(name: string): ProviderStatus {
    const entry = this.#entries.get(name);
    return entry === undefined ? 'available' : (entry.actor.getSnapshot().value as ProviderStatus);
  }

  /** Epoch ms until which nothing is sent; null when it is not known or not so. */
  until(name: string): number | null {
    return this.#entries.get(name)?.actor.getSnapshot().context.until ?? null;
  }

  /**
   * Jobs it may be sent now, its ceiling of concurrent requests apart: none while limited or open, one while probing.
   * A limit of a provider without `rate_limit` stops nothing: its 429s fail their jobs, as the spec has it.
   */
  allowance(name: string): number {
    const entry = this.#entries.get(name);
    if (entry === undefined) return Number.POSITIVE_INFINITY;
    const status = this.status(name);
    const waitsOutLimits = this.rateLimit(name) !== null;
    if (status === 'open') return 0;
    if (status === 'limited' && waitsOutLimits) return 0;
    if (status === 'probing' && (waitsOutLimits || this.hasOpened(name)))
      return entry.actor.getSnapshot().context.probeSent ? 0 : 1;
    return Number.POSITIVE_INFINITY;
  }

  /** Whether its breaker has opened, and nothing has succeeded since. */
  hasOpened(name: string): boolean {
    return (this.#entries.get(name)?.actor.getSnapshot().context.opensInRow ?? 0) > 0;
  }

  /** The failure with which its breaker opened last; null when it has not, or something has succeeded since. */
  openedBy(name: string): Failure | null {
    return this.hasOpened(name) ? (this.#entries.get(name)?.openedBy ?? null) : null;
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
  completed(lease: Lease, tookMs: number): void {
    const entry = this.#entry(lease.provider);
    entry.latencyMs =
      entry.latencyMs === null ? tookMs : entry.latencyMs + latencyWeight * (tookMs - entry.latencyMs);
    this.answered(lease);
  }

  /** An attempt ended with a failure that is the job's own: the provider answered. */
  answered(lease: Lease): void {
    const name = lease.provider;
    const entry = this.#remember(lease, false);
    this.#climb(entry);
    const { context, value } = entry.actor.getSnapshot();
    // Nothing to forgive it, as after nearly every attempt.
    if (value === 'available' && context.limitsInRow + context.opensInRow === 0) return;
    this.#send(name, { type: 'provider.succeeded', at: this.#clock.now() });
  }

  /** Output of an attempt comes. That of a probe says that the provider is back, however long the answer still takes. */
  streamed(lease: Lease): void {
    const { provider, assignedAt, hasStreamed } = lease;
    lease.hasStreamed = true;
    const entry = this.#entries.get(provider);
    if (entry === undefined) return;
    if (!hasStreamed && this.#climb(entry)) this.#onAvailable();
    if (assignedAt < entry.probingSince) return;
    this.#send(provider, { type: 'provider.succeeded', at: this.#clock.now() });
  }

  /** An attempt has ended, maybe without the provider's word: cancelled, reaped, released. A probe is sent again then. */
  returned({ provider, assignedAt }: Lease): void {
    const entry = this.#entries.get(provider);
    if (entry === undefined || assignedAt < entry.probingSince) return;
    this.#send(provider, { type: 'provider.probeReturned', at: this.#clock.now() });
    this.#onAvailable();
  }

  /** An attempt failed; `fault` is what that says of its worker. */
  failed(lease: Lease, failure: Failure & { retryAfterMs: number | null }, fault: Fault | null): void {
    if (failure.class === 'rate_limited') this.#limit(lease.provider, failure.retryAfterMs);
    else if (tripsBreaker(failure.class, fault)) this.#stumbled(lease, failure);
    else this.answered(lease);
  }

  /** A worker of its has come, or is well again: an open breaker need not wait for its time. */
  workerCame(name: string): void {
    if (this.status(name) !== 'open') return;
    const isReturn =
      this.#entries.get(name)?.isTakenUp === true && this.#clock.monotonic() < this.#returnsUntil;
    if (!isReturn) this.#send(name, { type: 'provider.due', at: this.#clock.now() });
  }

  /** A failure that counts for the breaker. */
  #stumbled(lease: Lease, { class: errorClass, code, message, status }: Failure): void {
    const { provider: name, model } = lease;
    const entry = this.#remember(lease, true);
    const { window } = entry;
    if (this.status(name) !== 'open') {
      entry.openedBy = brief({ class: errorClass, code, message, status });
    }
    const breaker = this.#breaker(name);
    const at = this.#clock.now();
    this.#send(name, {
      type: 'provider.failed',
      at,
      attempts: window.length,
      failureRatio: window.filter(({ failed }) => failed).length / window.length,
      openRatio: breaker.ratio,
      openMinimum: breaker.minimum,
      openUntil: at + breaker.openSeconds * 1000,
      workersLeft: this.#workersLeft(name, model, breaker.ratio),
    });
    if (this.status(name) === 'probing') this.#onAvailable();
  }

  /** Workers that are not set aside, and of whose recent attempts fewer failed than the breaker allows. */
  #workersLeft(name: string, model: string | null, ratio: number): number {
    const ends = Map.groupBy(this.#entry(name).window, ({ workerId }) => workerId);
    return this.#ableWorkers(name, model).filter((id) => {
      const own = ends.get(id) ?? [];
      return own.filter(({ failed }) => failed).length < Math.max(ratio * own.length, Number.MIN_VALUE);
    }).length;
  }

  /** A request got through. @returns whether one more may be under way now. */
  #climb(entry: Entry): boolean {
    if (entry.ramp === null) return false;
    entry.ramp = entry.ramp + 1 < rampTo ? entry.ramp + 1 : null;
    return true;
  }

  #limit(name: string, askedMs: number | null): void {
    const limit = this.rateLimit(name);
    const limitsInRow = this.#entries.get(name)?.actor.getSnapshot().context.limitsInRow ?? 0;
    const ownMs = (limit?.retryAfterSeconds ?? 30) * 1000 * 2 ** Math.min(limitsInRow, 10);
    const waitMs = Math.min(askedMs ?? ownMs, this.#retryAfterMsMax(name));
    const until = this.#clock.now() + Math.ceil(waitMs * (1 + jitterShare * this.#random.next()));
    this.#send(name, { type: 'provider.limited', until, at: this.#clock.now() });
  }

  #retryAfterMsMax(name: string): number {
    return (this.rateLimit(name)?.retryAfterMaxSeconds ?? 300) * 1000;
  }

  /** The longest limit that there can be. */
  #limitMsMax(name: string): number {
    return Math.ceil(this.#retryAfterMsMax(name) * (1 + jitterShare));
  }

  #remember({ provider: name, workerId }: Lease, failed: boolean): Entry {
    const entry = this.#entry(name);
    const windowMs = this.#breaker(name).windowSeconds * 1000;
    const now = this.#clock.monotonic();
    const { window } = entry;
    window.push({ at: now, failed, workerId });
    while (window.length > windowSizeMax || (window[0]?.at ?? now) <= now - windowMs) window.shift();
    return entry;
  }

  #send(name: string, event: ProviderEvent): void {
    const entry = this.#entry(name);
    const before = this.status(name);
    const untilBefore = this.until(name);
    const isHeldBack = this.rateLimit(name) !== null || this.hasOpened(name);
    entry.actor.send(event);
    const after = this.status(name);
    if (this.until(name) !== untilBefore) this.#arm(name, entry);
    this.#bus.handled('provider', name, { before, after, event: event.type, at: event.at });
    const type = providerEventType(after);
    if (after !== before || this.until(name) !== untilBefore) {
      this.#keep(name, entry);
      this.#bus.publish({ type, at: event.at, provider: this.view(name) });
    }
    if (after === before) return;
    entry.isTakenUp = false;
    const isBack = before === 'probing' && event.type === 'provider.succeeded';
    entry.ramp = isBack && isHeldBack ? this.#leases.ofProvider(name) + 1 : null;
    entry.probingSince = after === 'probing' ? this.#clock.monotonic() : Number.POSITIVE_INFINITY;
    this.#logger.info(
      { provider: name, from: before, to: after, until: this.until(name) },
      'provider changed',
    );
    if (after === 'available' || after === 'probing') this.#onAvailable();
  }

  /** Have what holds it back stored. While it is probing that is the same as before: a restart goes on with a probe. */
  #keep(name: string, { actor, openedBy }: Entry): void {
    const { value: status, context } = actor.getSnapshot();
    const { until, changedAt, limitsInRow, opensInRow } = context;
    if (status === 'available') this.#holds.note(name, null);
    if ((status !== 'limited' && status !== 'open') || until === null) return;
    const cause = opensInRow > 0 ? openedBy : null;
    this.#holds.note(name, { name, status, until, changedAt, limitsInRow, opensInRow, cause });
  }

  /** Set the deadline that ends a limited or open time, once: a wall clock that is set meanwhile changes nothing. */
  #arm(name: string, entry: Entry): void {
    this.#deadlines.clear(entry.due);
    const until = this.until(name);
    entry.due =
      until === null
        ? null
        : this.#deadlines.set(this.#clock.monotonic() + Math.max(0, until - this.#clock.now()), () =>
            this.#send(name, { type: 'provider.due', at: this.#clock.now() }),
          );
  }

  /** @param snapshot what a new one begins from; its first state unless given. */
  #entry(name: string, snapshot?: SnapshotFrom<typeof providerMachine>): Entry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const input = { name, at: this.#clock.now() };
    const actor = createActor(providerMachine, {
      input,
      ...(snapshot === undefined ? {} : { snapshot }),
      ...inspectOption(this.#inspector, 'provider', name),
    });
    actor.subscribe({
      error: (error) => this.#logger.error({ err: error, provider: name }, 'provider actor failed'),
    });
    actor.start();
    const entry: Entry = {
      actor,
      window: [],
      due: null,
      openedBy: null,
      latencyMs: null,
      probingSince: Number.POSITIVE_INFINITY,
      isTakenUp: false,
      ramp: null,
    };
    this.#entries.set(name, entry);
    return entry;
  }
}
