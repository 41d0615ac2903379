import type { Config } from '../config/config.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { LiveEvent } from '../coordinator/eventBus.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { JobRecord } from '../domain/job.ts';
import type { Principal } from '../domain/key.ts';
import { isTerminal } from '../domain/states.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';
import { type BoundFigures, noFigures } from '../lib/boundFigures.ts';
import type { Logger } from '../lib/log.ts';
import { Places } from '../lib/places.ts';
import { presentInspected } from '../present/inspection.ts';
import { presentStats } from '../present/stats.ts';
import type { Entry } from './entry.ts';
import { Feed } from './feed.ts';
import { History } from './history.ts';
import type { Outlet } from './outlet.ts';
import { Outputs } from './outputs.ts';
import { Pace } from './pace.ts';
import { presentEvent } from './present.ts';
import { Snapshots } from './snapshots.ts';
import { Subscriber } from './subscriber.ts';
import { topicsOf } from './topics.ts';

/** Between two looks at whether subscribers are alive, ms. */
const pingMs = 20_000;
const statsMs = 1_000;

/**
 * Live events, from the coordinator's bus to whoever subscribes. What nobody subscribes to is numbered and remembered,
 * and neither presented nor serialised; what many subscribe to is serialised once, and leaves in one write each.
 */
export class Live {
  readonly feed: Feed;
  readonly history: History;
  readonly snapshots: Snapshots;
  /** Told when a subscriber is refused or ended. */
  readonly figures: BoundFigures;
  readonly #outputs = new Outputs();
  readonly #coordinator: Coordinator;
  readonly #places: Places;
  /** Counts what subscribers have not read. */
  readonly answers: AnswerMemory;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #subscribers = new Set<Subscriber>();
  /** How many listen to each topic. */
  readonly #listeners = new Map<string, number>();
  readonly #pace = new Pace(() => this.flush());
  #batch: Entry[] = [];
  #isOpen = true;
  #stopPings: (() => void) | null = null;
  #stopStats: (() => void) | null = null;
  #stopMachines: (() => void) | null = null;
  #stopInspecting: (() => void) | null = null;
  readonly #stopHearing: () => void;

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
    this.snapshots = new Snapshots({ coordinator, feed: this.feed, outputs: this.#outputs });
    this.#stopHearing = coordinator.bus.subscribe((event) => this.#hear(event));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Take a place for a subscriber; whoever gets one gives it back with `release`.
   * @returns null, or the refusal, which is counted: share_exceeded, rate_limited, draining.
   */
  admit(principal: Principal): CoordinatorError | null {
    if (!this.#isOpen) return closing();
    const refusal = this.#places.enter(principal);
    if (refusal !== null) this.figures.subscriberRefused();
    return refusal;
  }

  /** What `admit` would answer now; no place is taken and nothing is counted. */
  refusal(principal: Principal): CoordinatorError | null {
    return this.#isOpen ? this.#places.refusal(principal) : closing();
  }

  /** Give the place of a subscriber back. */
  release(principal: Principal): void {
    this.#places.leave(principal);
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  /** Characters of the output of running attempts that are remembered. */
  get outputSize(): number {
    return this.#outputs.weight;
  }

  /** Bytes of the events that are remembered. */
  get rememberedBytes(): number {
    return this.feed.bytes;
  }

  /** Bytes that were handed over and that nobody has taken yet. */
  get unsentBytes(): number {
    return [...this.#subscribers].reduce((sum, { outlet }) => sum + outlet.unsentBytes, 0);
  }

  /** @param endsWith the job with whose end the connection ends too. */
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

  /** Called by a subscriber: one more listens to a topic. */
  listen(topic: string): void {
    const count = (this.#listeners.get(topic) ?? 0) + 1;
    this.#listeners.set(topic, count);
    if (count > 1) return;
    if (topic === 'stats') this.#statsLater();
    if (topic === 'machines') this.#stopMachines = this.#coordinator.bus.watchMachines();
    if (topic === 'inspect') this.#stopInspecting = this.#inspect();
  }

  /** Called by a subscriber: one less. */
  unlisten(topic: string): void {
    const count = (this.#listeners.get(topic) ?? 0) - 1;
    if (count > 0) {
      this.#listeners.set(topic, count);
      return;
    }
    this.#listeners.delete(topic);
    if (topic === 'stats') this.#stopStats?.();
    if (topic === 'machines') this.#stopMachines?.();
    if (topic === 'inspect') this.#stopInspecting?.();
  }

  /** Send what has gathered. */
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
        // An event that cannot be shown is a bug; it must not end the coordinator.
        this.failed(error);
        subscriber.end(closeCodes.tryAgainLater, 'an event could not be told');
      }
    }
    for (const entry of batch) if (entry.onGrown === null) entry.release();
  }

  /** Something went wrong that is nobody's fault outside. */
  failed(error: unknown): void {
    if (error instanceof CoordinatorError && error.code !== 'internal_error') return;
    this.#logger.error({ err: error }, 'a live subscriber could not be served');
  }

  /** Send everybody away; nobody is taken any more. */
  close(): void {
    this.flush();
    this.#isOpen = false;
    this.#stopHearing();
    this.#pace.close();
    for (const subscriber of [...this.#subscribers]) {
      subscriber.end(closeCodes.goingAway, 'the coordinator stops');
    }
  }

  #hear(event: LiveEvent): void {
    const { type, at } = event;
    const topics = topicsOf(event);
    const data = () => presentEvent(event, (job) => this.#coordinator.view(job));
    if (event.type === 'job.progress') {
      const { jobId, lease, seq, text } = event;
      if (this.#outputs.hasHeard(jobId, lease, seq)) return;
      const entry = this.feed.number({ type, at, topics, data });
      this.#outputs.add(jobId, lease, { seq, text, entry });
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
    // A job's events are the ends and beginnings of its attempts, but for those of a worker that is away for a while.
    const goesOn = type === 'job.stuck' || type === 'job.resumed';
    if (entry.jobId !== null && !goesOn) this.#outputs.end(entry.jobId);
    if (type !== 'transition') this.feed.keep(entry);
    this.#offer(entry);
  }

  /** Tell what the actors do, from now on; nothing when the coordinator was not started to be inspected. */
  #inspect(): (() => void) | null {
    const { inspector } = this.#coordinator;
    if (inspector === null) return null;
    return inspector.watch((inspected) => {
      const data = () => presentInspected(inspected);
      this.#offer(this.feed.number({ type: 'inspected', at: inspected.at, topics: ['inspect'], data }));
    });
  }

  #offer(entry: Entry): void {
    // Mostly nobody listens, and to look up the topics of a job takes longer than all else that is done for its event.
    if (this.#listeners.size === 0 || !entry.topics.some((topic) => this.#listeners.has(topic))) return;
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
      void this.#tellStats();
    });
  }

  async #tellStats(): Promise<void> {
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
