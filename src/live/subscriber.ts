import type { Clock } from '../domain/clock.ts';
import {
  jobOfTopic,
  type LiveError,
  type LiveHello,
  type LivePong,
  type Topic,
} from '../domain/liveProtocol.ts';
import { closeCodes } from '../domain/workerProtocol.ts';
import type { Encoding, Message } from './encoding.ts';
import type { Entry } from './entry.ts';
import type { Live } from './live.ts';
import type { Snapshot } from './snapshots.ts';

/** Bytes that may lie unread; beyond it nothing is sent until all of them are taken. */
const unsentBytesMax = 1024 * 1024;
/** Events that are sent again as they were; what is more is told by a snapshot. */
const replayBytesMax = 1024 * 1024;
/** One that is behind has this long to take what lies there, ms; one that takes nothing at all has less. */
const behindMsMax = 60_000;
const idleMsMax = 20_000;
/** Between two recoveries of the same subscriber, ms: a snapshot costs more than an event. */
const recoveryMsMin = 1_000;

/**
 * A connection is made anew each day, ms: who may listen is asked again, and what nobody looks at any more ends. As with
 * all that lasts, pings are when it is looked at.
 */
const ageMsMax = 86_400_000;

/** The way to one subscriber: a WebSocket or an event stream. */
export interface Outlet {
  readonly encoding: Encoding;
  /** Bytes handed over that the other side has not taken. */
  readonly unsentBytes: number;
  write(bytes: Buffer): void;
  /** Call `done` once, when everything that was handed over is taken. Only asked for beyond `unsentBytesMax`. */
  onTaken(done: () => void): void;
  /** Called every 20 seconds: see whether the other side is alive, or end. */
  ping(): void;
  end(code: number, reason: string): void;
}

/**
 * One connection: what it wants to hear and how far it has heard it. It is a place in the feed and no queue: one that
 * does not read is left where it is, at no cost, and brought up to date when it reads again.
 */
export class Subscriber {
  readonly outlet: Outlet;
  readonly #live: Live;
  readonly #clock: Clock;
  readonly #topics = new Set<Topic>();
  /** The job with whose end the connection ends too. */
  readonly #endsWith: string | null;
  /** Everything up to this number was sent, or was nothing it wanted. */
  #cursor = 0;
  #state: 'current' | 'behind' | 'ended' = 'current';
  /** Something was told meanwhile that cannot be told again. */
  #hasMissed = false;
  /** Resolved while it is not behind, and when it has ended. */
  #isCurrent = Promise.withResolvers<void>();
  /** Monotonic ms. */
  readonly #joinedAt: number;
  #behindSince = 0;
  #recoveredAt = Number.NEGATIVE_INFINITY;
  #unsentAtPing = 0;

  constructor(options: { outlet: Outlet; live: Live; clock: Clock; endsWith: string | null }) {
    this.outlet = options.outlet;
    this.#live = options.live;
    this.#clock = options.clock;
    this.#endsWith = options.endsWith;
    this.#joinedAt = this.#clock.monotonic();
  }

  get topics(): ReadonlySet<Topic> {
    return this.#topics;
  }

  get isBehind(): boolean {
    return this.#state === 'behind';
  }

  /** The first frame. */
  greet(role: string, serverTime: string): void {
    const { seq, epoch } = this.#live.feed;
    this.say({ type: 'hello', server_time: serverTime, role, seq, epoch });
  }

  /** Say something that is no event. Left out while it does not read. */
  say(frame: LiveHello | LivePong | LiveError): void {
    if (this.#state === 'current') this.#write({ type: frame.type, seq: null, json: JSON.stringify(frame) });
  }

  /**
   * Tell of `topics` from now on: first what happened after `since`, or a snapshot when that is null or too long ago.
   * @throws CoordinatorError job_not_found; then none of the topics is subscribed.
   */
  async subscribe(topics: readonly Topic[], since: number | null): Promise<void> {
    await this.#bring(new Set(topics), since, { isGap: since !== null, isRecovery: false });
    for (const topic of topics) this.#add(topic);
  }

  unsubscribe(topics: readonly Topic[]): void {
    for (const topic of topics) if (this.#topics.delete(topic)) this.#live.unlisten(topic);
  }

  /**
   * Take what has happened since the last batch.
   * @param shared bytes of the same choice of events for others with the same encoding.
   */
  take(batch: readonly Entry[], shared: Map<string, Buffer>): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'behind') {
      this.#hasMissed ||= batch.some((entry) => isToldOnce(entry.type) && this.#wants(entry));
      return;
    }
    const wanted = batch.filter((entry) => this.#wants(entry));
    this.#cursor = this.#live.feed.seq;
    if (wanted.length === 0) return;
    const { encoding } = this.outlet;
    const key = `${encoding.name} ${wanted.map(({ seq }) => seq).join()}`;
    const known = shared.get(key);
    const bytes = known ?? Buffer.concat(wanted.map((entry) => entry.bytes(encoding)));
    if (known === undefined) shared.set(key, bytes);
    this.#hand(bytes);
    if (wanted.some(({ endedJob }) => endedJob !== null && endedJob === this.#endsWith)) this.#jobEnded();
  }

  #wants({ topics }: Entry): boolean {
    return topics.some((topic) => this.#topics.has(topic as Topic));
  }

  /** Called every 20 seconds. */
  ping(): void {
    if (this.#state === 'ended') return;
    const { unsentBytes } = this.outlet;
    const behindMs = this.#state === 'behind' ? this.#clock.monotonic() - this.#behindSince : 0;
    const isIdle = unsentBytes >= this.#unsentAtPing && unsentBytes > 0;
    this.#unsentAtPing = unsentBytes;
    if (behindMs >= behindMsMax || (isIdle && behindMs >= idleMsMax)) {
      this.end(closeCodes.tryAgainLater, 'too far behind');
    } else if (this.#clock.monotonic() - this.#joinedAt >= ageMsMax) {
      this.end(closeCodes.goingAway, 'connections last a day; connect again');
    } else {
      this.outlet.ping();
    }
  }

  end(code: number, reason: string): void {
    if (this.#state === 'ended') return;
    this.left();
    this.#live.figures.socketEnded('live', code);
    this.outlet.end(code, reason);
  }

  /** The connection is gone. */
  left(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#isCurrent.resolve();
    this.unsubscribe([...this.#topics]);
    this.#live.leave(this);
  }

  #add(topic: Topic): void {
    if (this.#state === 'ended' || this.#topics.has(topic)) return;
    this.#topics.add(topic);
    this.#live.listen(topic);
  }

  /**
   * Tell what happened to `topics` after `since`: event by event where that can be done, else by a snapshot and what
   * came after it. Ends in the same turn of the event loop in which the last event is told, so nothing falls between.
   * @param isGap whether a snapshot means that events were lost.
   */
  async #bring(
    topics: ReadonlySet<Topic>,
    since: number | null,
    { isGap, isRecovery }: { isGap: boolean; isRecovery: boolean },
  ): Promise<void> {
    const { history, snapshots } = this.#live;
    const fresh = new Map<Topic, Snapshot>();
    const isWhole = isRecovery && !this.#hasMissed;
    if (isRecovery) this.#hasMissed = false;
    let entries: Entry[] = [];
    for (let isTooMuch = false; ; ) {
      this.#live.flush();
      if (this.#state === 'ended') return;
      if (this.#state === 'behind' && !isRecovery) {
        await this.#isCurrent.promise;
        fresh.clear();
        continue;
      }
      const places = new Map([...topics].map((topic) => [topic, fresh.get(topic)?.seq ?? since]));
      const lost = [...places].filter(([topic, seq]) => {
        if (seq === null || (isTooMuch && !fresh.has(topic))) return true;
        return !history.covers(topic, seq, fresh.has(topic) || isWhole);
      });
      if (lost.length === 0) {
        entries = history
          .after(places as Map<Topic, number>)
          .filter((entry) => isRecovery || !this.#hasTold(entry));
        isTooMuch = fresh.size < topics.size && this.#isTooMuch(entries);
        if (!isTooMuch) break;
      }
      for (const shot of await Promise.all(lost.map(([topic]) => snapshots.read(topic)))) {
        fresh.set(shot.topic, shot);
      }
    }
    const { encoding } = this.outlet;
    const parts = isRecovery ? this.#newest(new Set(fresh.keys()), new Set(entries)) : [];
    for (const shot of fresh.values()) parts.push(encoding(shot.message(isGap && shot.topic !== 'stats')));
    for (const entry of entries) parts.push(entry.bytes(encoding));
    if (isRecovery) this.#current();
    this.#cursor = this.#live.feed.seq;
    this.#hand(Buffer.concat(parts));
    const isOver =
      entries.some(({ endedJob }) => endedJob !== null && endedJob === this.#endsWith) ||
      [...fresh.values()].some(({ topic, isEnded }) => isEnded && jobOfTopic(topic) === this.#endsWith);
    if (isOver) this.#jobEnded();
  }

  /** Whether a topic it already has has told it of this event. */
  #hasTold({ topics, seq }: Entry): boolean {
    return seq <= this.#cursor && topics.some((topic) => this.#topics.has(topic as Topic));
  }

  /** After a loss: the newest state of each job that has changed meanwhile, the newest ones when they are too many. */
  #newest(lost: ReadonlySet<string>, told: ReadonlySet<Entry>): Buffer[] {
    const parts: Buffer[] = [];
    let size = 0;
    for (const entry of this.#live.history.newestOfJobs(lost, this.#cursor).reverse()) {
      if (told.has(entry)) continue;
      const bytes = entry.bytesAfterGap(this.outlet.encoding);
      size += bytes.length;
      if (size > replayBytesMax) break;
      parts.push(bytes);
    }
    return parts.reverse();
  }

  #isTooMuch(entries: readonly Entry[]): boolean {
    let size = 0;
    for (const entry of entries) {
      size += entry.bytes(this.outlet.encoding).length;
      if (size > replayBytesMax) return true;
    }
    return false;
  }

  #write(message: Message): void {
    this.#hand(this.outlet.encoding(message));
  }

  #hand(bytes: Buffer): void {
    if (bytes.length > 0) this.outlet.write(bytes);
    if (this.#state !== 'current' || this.outlet.unsentBytes <= unsentBytesMax) return;
    this.#state = 'behind';
    this.#isCurrent = Promise.withResolvers();
    this.#behindSince = this.#clock.monotonic();
    this.outlet.onTaken(() => this.#recover());
  }

  #current(): void {
    this.#state = 'current';
    this.#isCurrent.resolve();
  }

  /** It reads again. */
  #recover(): void {
    if (this.#state !== 'behind') return;
    const waitMs = this.#recoveredAt + recoveryMsMin - this.#clock.monotonic();
    if (waitMs > 0) {
      this.#clock.after(waitMs, () => this.#recover());
      return;
    }
    this.#recoveredAt = this.#clock.monotonic();
    this.#bring(this.#topics, this.#cursor, { isGap: true, isRecovery: true }).catch((error: unknown) => {
      this.#live.failed(error);
      this.end(closeCodes.tryAgainLater, 'the state could not be read');
    });
  }

  #jobEnded(): void {
    this.end(1000, 'the job has ended');
  }
}

/** Events that are not remembered: whoever has missed one needs a snapshot. */
function isToldOnce(type: string): boolean {
  return type === 'transition' || type === 'inspected';
}
