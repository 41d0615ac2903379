import type { Config } from '../config/config.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { LiveEvent } from '../coordinator/core/index.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { JobRecord } from '../domain/job.ts';
import type { Principal } from '../domain/key.ts';
import type { JobOutput } from '../domain/liveProtocol.ts';
import { isTerminal } from '../domain/states.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';
import { type BoundFigures, noFigures } from '../lib/boundFigures.ts';
import type { Logger } from '../lib/log.ts';
import { Places } from '../lib/places.ts';
import { presentInspected } from '../present/inspection.ts';
import { presentStats } from '../present/stats.ts';
import { Feed } from './feed.ts';
import { History } from './history.ts';
import type { NumberedEvent } from './numberedEvent.ts';
import type { Outlet } from './outlet.ts';
import { Outputs } from './outputs.ts';
import { Pace } from './pace.ts';
import { presentEvent } from './present.ts';
import { RunChanges } from './runChanges.ts';
import { Snapshots } from './snapshots.ts';
import { Subscriber } from './subscriber.ts';
import { topicsOf } from './topics.ts';

/** Interval of the pings to subscribers, ms. */
const pingMs = 20_000;
/** Interval of the figures, and of the runs that have changed, ms. */
const statsMs = 1_000;

/**
 * Live events, from the coordinator's bus to the subscribers. An event without subscribers is numbered and kept, but
 * neither presented nor serialised; an event with many is serialised once, and written once to each.
 */
export class Live {
  readonly feed: Feed;
  readonly history: History;
  readonly snapshots: Snapshots;
  /** Counts subscribers that are refused or ended. */
  readonly figures: BoundFigures;
  readonly #outputs = new Outputs();
  readonly #runChanges: RunChanges;
  readonly #coordinator: Coordinator;
  readonly #places: Places;
  /** Counts what subscribers have not read. */
  readonly answers: AnswerMemory;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #subscribers = new Set<Subscriber>();
  /** The number of subscribers of each topic. */
  readonly #subscriptions = new Map<string, number>();
  readonly #pace = new Pace(() => this.flush());
  #batch: NumberedEvent[] = [];
  #isOpen = true;
  #stopPings: (() => void) | null = null;
  #stopStats: (() => void) | null = null;
  #stopRuns: (() => void) | null = null;
  #stopMachines: (() => void) | null = null;
  #stopInspecting: (() => void) | null = null;
  readonly #unsubscribe: () => void;

  constructor(options: {
    coordinator: Coordinator;
    config: () => Config;
    answers: AnswerMemory;
    clock: Clock;
    random: Random;
    logger: Logger;
    figures?: BoundFigures;
  }) {
    const { coordinator, config, clock, random, logger, figures = noFigures } = options;
    this.figures = figures;
    this.answers = options.answers;
    this.#coordinator = coordinator;
    this.#places = new Places({
      things: 'live subscribers',
      settings: { max: 'live.max_subscribers', share: 'http.shares.live' },
      max: () => config().live.maxSubscribers,
      share: () => config().http.shares.live,
    });
    this.#clock = clock;
    this.#logger = logger;
    this.feed = new Feed({ clock, random });
    this.history = new History(this.feed, this.#outputs);
    this.#runChanges = new RunChanges(coordinator.runs, clock);
    this.snapshots = new Snapshots({
      coordinator,
      feed: this.feed,
      outputs: this.#outputs,
      runChanges: this.#runChanges,
    });
    this.#unsubscribe = coordinator.bus.subscribe((event) => this.#publish(event));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Take a place for a subscriber; return it with `release`.
   * @returns null, or the refusal, which is counted: share_exceeded, rate_limited, draining.
   */
  admit(principal: Principal): CoordinatorError | null {
    if (!this.#isOpen) return closing();
    const refusal = this.#places.enter(principal);
    if (refusal !== null) this.figures.subscriberRefused();
    return refusal;
  }

  /** What `admit` would return now; takes no place and counts nothing. */
  refusal(principal: Principal): CoordinatorError | null {
    return this.#isOpen ? this.#places.refusal(principal) : closing();
  }

  /** Return the place of a subscriber. */
  release(principal: Principal): void {
    this.#places.leave(principal);
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  /** Characters of the kept output of running attempts. */
  get outputSize(): number {
    return this.#outputs.weight;
  }

  /** The whole output of the running attempt of a job so far; null when a part is missing. */
  outputSoFar(jobId: string): Omit<JobOutput, 'truncated'> | null {
    return this.#outputs.whole(jobId);
  }

  /** Bytes of the kept events. */
  get keptBytes(): number {
    return this.feed.bytes;
  }

  /** Bytes that were written and not yet accepted by the network. */
  get unsentBytes(): number {
    return [...this.#subscribers].reduce((sum, { outlet }) => sum + outlet.unsentBytes, 0);
  }

  /** @param endsWith the job whose end also ends the connection. */
  join(outlet: Outlet, principal: Principal, endsWith: string | null = null): Subscriber {
    const subscriber = new Subscriber({ outlet, principal, live: this, clock: this.#clock, endsWith });
    this.#subscribers.add(subscriber);
    if (this.#stopPings === null) this.#pingLater();
    return subscriber;
  }

  /** Called by a subscriber that ends. */
  leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size > 0) return;
    this.#stopPings?.();
    this.#stopPings = null;
  }

  /** Called by a subscriber of a topic. */
  addSubscription(topic: string): void {
    const count = (this.#subscriptions.get(topic) ?? 0) + 1;
    this.#subscriptions.set(topic, count);
    if (count > 1) return;
    if (topic === 'stats') this.#statsLater();
    if (topic === 'runs') this.#runsLater();
    if (topic === 'machines') this.#stopMachines = this.#coordinator.bus.watchMachines();
    if (topic === 'inspect') this.#stopInspecting = this.#inspect();
  }

  /** Called by a subscriber that no longer needs a topic. */
  removeSubscription(topic: string): void {
    const count = (this.#subscriptions.get(topic) ?? 0) - 1;
    if (count > 0) {
      this.#subscriptions.set(topic, count);
      return;
    }
    this.#subscriptions.delete(topic);
    if (topic === 'stats') this.#stopStats?.();
    if (topic === 'runs') this.#endRuns();
    if (topic === 'machines') this.#stopMachines?.();
    if (topic === 'inspect') this.#stopInspecting?.();
  }

  /** Send the events collected so far. */
  flush(): void {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#pace.done();
    const shared = new Map<string, Buffer>();
    for (const subscriber of this.#subscribers) {
      try {
        subscriber.take(batch, shared);
      } catch (error) {
        // An event that cannot be presented is a bug; it must not end the coordinator.
        this.failed(error);
        subscriber.end(closeCodes.tryAgainLater, 'an event could not be sent');
      }
    }
    for (const entry of batch) if (entry.onGrown === null) entry.release();
  }

  /** Log an error of our own. */
  failed(error: unknown): void {
    if (error instanceof CoordinatorError && error.code !== 'internal_error') return;
    this.#logger.error({ err: error }, 'a live subscriber could not be served');
  }

  /** End all subscribers and accept no more. */
  close(): void {
    this.flush();
    this.#isOpen = false;
    this.#unsubscribe();
    this.#pace.close();
    for (const subscriber of [...this.#subscribers]) {
      subscriber.end(closeCodes.goingAway, 'the coordinator is stopping');
    }
  }

  #publish(event: LiveEvent): void {
    const { type, at } = event;
    const topics = topicsOf(event);
    const data = () => presentEvent(event, (job) => this.#coordinator.view(job));
    if (event.type === 'job.progress') {
      const { jobId, lease, seq, parts } = event;
      if (this.#outputs.has(jobId, lease, seq)) return;
      const entry = this.feed.number({ type, at, topics, data });
      this.#outputs.add(jobId, lease, { seq, parts, entry });
      this.#offer(entry);
      return;
    }
    const entry = this.feed.number({
      type,
      at,
      topics,
      data,
      ...('job' in event ? aboutJob(event.job) : {}),
    });
    // A job's events are the starts and ends of its attempts, except those about a worker that is temporarily away.
    const isSameAttempt = type === 'job.stuck' || type === 'job.resumed';
    if (entry.jobId !== null && !isSameAttempt) this.#outputs.end(entry.jobId);
    if (type !== 'transition') this.feed.keep(entry);
    this.#offer(entry);
  }

  /** Publish what the actors do from now on; null when the coordinator was not started with inspection. */
  #inspect(): (() => void) | null {
    const { inspector } = this.#coordinator;
    if (inspector === null) return null;
    return inspector.watch((inspected) => {
      const data = () => presentInspected(inspected);
      this.#offer(this.feed.number({ type: 'inspected', at: inspected.at, topics: ['inspect'], data }));
    });
  }

  #offer(entry: NumberedEvent): void {
    // Mostly there are no subscribers, and looking up the topics of a job takes longer than everything else done for
    // its event.
    if (this.#subscriptions.size === 0 || !entry.topics.some((topic) => this.#subscriptions.has(topic)))
      return;
    this.#batch.push(entry);
    this.#pace.soon();
  }

  #pingLater(): void {
    this.#stopPings = this.#clock.after(pingMs, () => {
      this.#pingLater();
      for (const subscriber of [...this.#subscribers]) subscriber.ping();
    });
  }

  #statsLater(): void {
    this.#stopStats = this.#clock.after(statsMs, () => {
      this.#statsLater();
      void this.#publishStats();
    });
  }

  /** Publish the runs that change from now on, each at most once a second. */
  #runsLater(): void {
    this.#stopRuns = this.#clock.after(statsMs, () => {
      this.#runsLater();
      const at = this.#clock.now();
      for (const run of this.#runChanges.take()) {
        this.#offer(this.feed.number({ type: 'run.updated', at, topics: ['runs'], data: () => run }));
      }
    });
  }

  #endRuns(): void {
    this.#stopRuns?.();
    this.#runChanges.end();
  }

  async #publishStats(): Promise<void> {
    try {
      const stats = presentStats(await this.#coordinator.stats());
      const at = this.#clock.now();
      this.#offer(this.feed.number({ type: 'stats', at, topics: ['stats'], data: () => stats }));
    } catch (error) {
      this.failed(error);
    }
  }
}

function aboutJob({ id, state, request, life }: JobRecord): { jobId: string; isEnd: boolean; size: number } {
  const size =
    (request.prompt?.length ?? 0) + (request.input?.length ?? 0) + (life.result?.output.length ?? 0);
  return { jobId: id, isEnd: isTerminal(state), size };
}

function closing(): CoordinatorError {
  return new CoordinatorError('draining', 'The coordinator is shutting down; connect again in a moment', {
    retryAfterSeconds: 5,
  });
}
