import type { Clock } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import {
  jobOfTopic,
  type LiveError,
  type LiveHello,
  type LivePong,
  type Topic,
} from '../domain/liveProtocol.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';
import type { BoundFigures } from '../lib/boundFigures.ts';
import { BackPressure } from './backPressure.ts';
import type { Encoding } from './encoding.ts';
import type { Feed } from './feed.ts';
import type { History } from './history.ts';
import type { NumberedEvent } from './numberedEvent.ts';
import type { Outlet } from './outlet.ts';
import type { Snapshots } from './snapshots.ts';

/** Bytes of events that are replayed; beyond it a snapshot replaces them. */
const replayBytesMax = 1024 * 1024;

/**
 * Longest life of a connection, ms: then its client has to show its key again, and forgotten pages end. Checked with
 * each ping.
 */
const ageMsMax = 86_400_000;

/** Why a snapshot is sent: nothing was missed, events before the subscription were, or events during it. */
type SnapshotReason = 'new' | 'gap' | 'lost';

/** Where a subscriber gets its events. */
interface Source {
  readonly feed: Feed;
  readonly history: History;
  readonly snapshots: Snapshots;
  readonly figures: BoundFigures;
  readonly answers: AnswerMemory;
  /** It is gone. */
  leave(subscriber: Subscriber): void;
  addSubscription(topic: string): void;
  removeSubscription(topic: string): void;
  /** Send the events collected so far. */
  flush(): void;
  /** Log an error of our own. */
  failed(error: unknown): void;
}

/**
 * One connection: its topics and its position in the feed. It has no queue: a slow reader keeps its position, at no cost,
 * and catches up when it reads again.
 */
export class Subscriber {
  readonly outlet: Outlet;
  readonly #pressure: BackPressure;
  readonly #live: Source;
  readonly #clock: Clock;
  readonly #principal: Principal;
  readonly #topics = new Set<Topic>();
  /** The topics of which it missed events and has not yet received the state. */
  readonly #lost = new Set<Topic>();
  #pendingSnapshots = 0;
  /** The job whose end also ends the connection. */
  readonly #endsWith: string | null;
  /** Every event up to this number was sent, or was of no topic of it. */
  #cursor = 0;
  /** Whether it missed events that the feed does not keep. */
  #missedUnkept = false;
  /** Monotonic ms. */
  readonly #joinedAt: number;

  constructor(options: {
    outlet: Outlet;
    principal: Principal;
    live: Source;
    clock: Clock;
    endsWith: string | null;
  }) {
    const { outlet, principal, live, clock } = options;
    this.outlet = outlet;
    this.#principal = principal;
    this.#live = live;
    this.#pressure = new BackPressure({
      outlet,
      principal,
      answers: live.answers,
      clock,
      cut: () =>
        this.end(closeCodes.tryAgainLater, 'this client reads too slowly, and others need the memory'),
      onDrained: () => this.#recover(),
    });
    this.#clock = clock;
    this.#endsWith = options.endsWith;
    this.#joinedAt = clock.monotonic();
  }

  get topics(): ReadonlySet<Topic> {
    return this.#topics;
  }

  get isBehind(): boolean {
    return this.#pressure.isBehind;
  }

  /** Send the first frame. */
  greet(role: string, serverTime: string): void {
    const { seq, epoch } = this.#live.feed;
    this.sendFrame({ type: 'hello', server_time: serverTime, role, seq, epoch });
  }

  /** Send a frame that is not an event. Skipped while the client does not read. */
  sendFrame(frame: LiveHello | LivePong | LiveError): void {
    if (!this.#pressure.isCurrent) return;
    this.#pressure.write(this.#encoding({ type: frame.type, seq: null, json: JSON.stringify(frame) }));
  }

  /**
   * Send the events of `topics` from now on: first those after `since`, or a snapshot when that is null or too old.
   * @throws CoordinatorError job_not_found; then none of the topics is subscribed.
   */
  async subscribe(topics: readonly Topic[], since: number | null): Promise<void> {
    const requested = [...new Set(topics)];
    const added = requested.filter((topic) => !this.#topics.has(topic));
    // A single one is checked by its snapshot.
    if (requested.length > 1) await this.#live.snapshots.assertKnown(requested);
    try {
      const rest = since === null ? requested : await this.#replay(requested, since);
      await this.#sendSnapshots(rest, since === null ? 'new' : 'gap');
    } catch (error) {
      this.unsubscribe(added);
      throw error;
    }
  }

  unsubscribe(topics: readonly Topic[]): void {
    for (const topic of topics) {
      this.#lost.delete(topic);
      if (this.#topics.delete(topic)) this.#live.removeSubscription(topic);
    }
  }

  /**
   * Send the new events since the last batch.
   * @param shared bytes of equal selections of events, for all subscribers with the same encoding.
   */
  take(batch: readonly NumberedEvent[], shared: Map<string, Buffer>): void {
    if (this.#pressure.hasEnded) return;
    if (this.#pressure.isBehind) {
      this.#missedUnkept ||= batch.some((entry) => isUnkept(entry.type) && this.#wants(entry));
      return;
    }
    const wanted = batch.filter((entry) => this.#wants(entry));
    this.#cursor = this.#live.feed.seq;
    if (wanted.length === 0) return;
    const encoding = this.#encoding;
    const key = `${encoding.name} ${wanted.map(({ seq }) => seq).join()}`;
    const known = shared.get(key);
    const bytes = known ?? Buffer.concat(wanted.map((entry) => entry.bytes(encoding)));
    if (known === undefined) shared.set(key, bytes);
    this.#pressure.write(bytes);
    this.#endAfter(wanted);
  }

  /** Called every 20 seconds. */
  ping(): void {
    if (this.#pressure.hasEnded) return;
    if (this.#pressure.isStuck()) {
      this.end(closeCodes.tryAgainLater, 'too far behind');
    } else if (this.#clock.monotonic() - this.#joinedAt >= ageMsMax) {
      this.end(closeCodes.goingAway, 'a connection lasts at most a day; connect again');
    } else {
      this.outlet.ping();
    }
  }

  end(code: number, reason: string): void {
    if (this.#pressure.hasEnded) return;
    this.left();
    this.#live.figures.socketEnded('live', code);
    this.outlet.end(code, reason);
  }

  /** The connection is closed. */
  left(): void {
    if (this.#pressure.hasEnded) return;
    this.#pressure.end();
    this.unsubscribe([...this.#topics]);
    this.#live.leave(this);
  }

  #wants({ topics }: NumberedEvent): boolean {
    return topics.some((topic) => this.#receives(topic as Topic));
  }

  #receives(topic: Topic): boolean {
    return this.#topics.has(topic) && !this.#lost.has(topic);
  }

  #add(topic: Topic): void {
    if (this.#pressure.hasEnded || this.#topics.has(topic)) return;
    this.#topics.add(topic);
    this.#live.addSubscription(topic);
  }

  /**
   * Send the events of `topics` after `since` one by one, and subscribe to them.
   * @returns the topics whose events are no longer kept, or all when there are too many.
   */
  async #replay(topics: readonly Topic[], since: number): Promise<readonly Topic[]> {
    await this.#pressure.current();
    this.#live.flush();
    if (this.#pressure.hasEnded) return [];
    const { history } = this.#live;
    const covered = topics.filter((topic) => history.covers(topic, since, false));
    const entries = history
      .after(new Map(covered.map((topic) => [topic, since])))
      .filter((entry) => !this.#wasSent(entry));
    if (this.#isTooLarge(entries)) return topics;
    for (const topic of covered) this.#add(topic);
    this.#send(entries);
    return topics.filter((topic) => !covered.includes(topic));
  }

  /**
   * Send the state of each topic, and subscribe to it. One after the other: a snapshot is made when the one before is
   * read, so a client that names a hundred jobs and reads none costs one snapshot.
   * @throws CoordinatorError job_not_found; share_exceeded, rate_limited when unread answers leave no memory for one.
   */
  async #sendSnapshots(topics: readonly Topic[], reason: SnapshotReason): Promise<void> {
    this.#pendingSnapshots += topics.length;
    let left = topics.length;
    try {
      for (const topic of topics) {
        while (!(await this.#sendSnapshot(topic, reason)));
        left -= 1;
      }
    } finally {
      this.#pendingSnapshots -= left;
    }
  }

  /** @returns false to try again: too much happened while the state was read. */
  async #sendSnapshot(topic: Topic, reason: SnapshotReason): Promise<boolean> {
    const { answers, history, snapshots } = this.#live;
    await this.#pressure.drained();
    if (this.#pressure.hasEnded) return true;
    const full = answers.refusalOfShare(this.#principal);
    if (full !== null) throw full;
    const shot = await snapshots.read(topic);
    // Ends in the turn of the event loop in which the last event is sent, so no event is lost between.
    this.#live.flush();
    if (this.#pressure.hasEnded) return true;
    if (this.#pressure.isBehind || !history.covers(topic, shot.seq, true)) return false;
    // Synchronous from here on.
    this.#pendingSnapshots -= 1;
    if (reason === 'lost' && !this.#lost.has(topic)) return true;
    const bytes = this.#encoding(shot.message(reason !== 'new' && topic !== 'stats'));
    const refusal = answers.refusal(this.#principal, bytes.length);
    if (refusal !== null) {
      this.#pendingSnapshots += 1;
      throw refusal;
    }
    const entries = history.after(new Map([[topic, shot.seq]])).filter((entry) => !this.#wasSent(entry));
    this.#lost.delete(topic);
    this.#add(topic);
    this.#pressure.write(bytes);
    this.#send(entries);
    if (shot.isEnded && jobOfTopic(topic) === this.#endsWith) this.#jobEnded();
    return true;
  }

  /** Send events other than those of `take`. */
  #send(entries: readonly NumberedEvent[]): void {
    const encoding = this.#encoding;
    this.#cursor = this.#live.feed.seq;
    this.#pressure.write(Buffer.concat(entries.map((entry) => entry.bytes(encoding))));
    this.#endAfter(entries);
  }

  #endAfter(sent: readonly NumberedEvent[]): void {
    if (sent.some(({ endedJob }) => endedJob !== null && endedJob === this.#endsWith)) this.#jobEnded();
  }

  /** Without numbers while snapshots are pending: a client that resumed there would miss the other topics. */
  get #encoding(): Encoding {
    const { encoding, unnumbered } = this.outlet;
    return this.#pendingSnapshots > 0 ? unnumbered : encoding;
  }

  /** Whether it was already sent for another topic. */
  #wasSent(entry: NumberedEvent): boolean {
    return entry.seq <= this.#cursor && this.#wants(entry);
  }

  /** After a loss: the newest state of each job that changed since, the newest jobs when there are too many. */
  #newestStates(lost: ReadonlySet<string>, replayed: ReadonlySet<NumberedEvent>): Buffer[] {
    const parts: Buffer[] = [];
    let size = 0;
    for (const entry of this.#live.history.newestOfJobs(lost, this.#cursor).reverse()) {
      if (replayed.has(entry)) continue;
      const bytes = entry.bytesAfterGap(this.#encoding);
      size += bytes.length;
      if (size > replayBytesMax) break;
      parts.push(bytes);
    }
    return parts.reverse();
  }

  #isTooLarge(entries: readonly NumberedEvent[]): boolean {
    let size = 0;
    for (const entry of entries) {
      size += entry.bytes(this.#encoding).length;
      if (size > replayBytesMax) return true;
    }
    return false;
  }

  #recover(): void {
    this.#catchUp().catch((error: unknown) => {
      this.#live.failed(error);
      this.end(closeCodes.tryAgainLater, 'the state could not be read');
    });
  }

  /** Send what it missed: event by event where possible, else the newest state of each job and a snapshot. */
  async #catchUp(): Promise<void> {
    this.#live.flush();
    if (!this.#pressure.isBehind) return;
    const { feed, history } = this.#live;
    const isWhole = !this.#missedUnkept;
    this.#missedUnkept = false;
    // The snapshots of lost topics are already pending.
    const topics = [...this.#topics].filter((topic) => this.#receives(topic));
    let lost = topics.filter((topic) => !history.covers(topic, this.#cursor, isWhole));
    const kept = topics.filter((topic) => !lost.includes(topic));
    let entries = history.after(new Map(kept.map((topic) => [topic, this.#cursor])));
    if (this.#isTooLarge(entries)) {
      lost = topics;
      entries = [];
    }
    this.#pendingSnapshots += lost.length;
    const newest = this.#newestStates(new Set(lost), new Set(entries));
    const encoding = this.#encoding;
    this.#pendingSnapshots -= lost.length;
    for (const topic of lost) this.#lost.add(topic);
    this.#pressure.resume(lost.length > 0);
    this.#cursor = feed.seq;
    this.#pressure.write(Buffer.concat([...newest, ...entries.map((entry) => entry.bytes(encoding))]));
    this.#endAfter(entries);
    await this.#sendSnapshots(lost, 'lost');
  }

  #jobEnded(): void {
    this.end(1000, 'the job has ended');
  }
}

/** Events that the feed does not keep: after missing one, a subscriber needs a snapshot. */
function isUnkept(type: string): boolean {
  return type === 'transition' || type === 'inspected' || type === 'run.updated';
}
