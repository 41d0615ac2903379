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
import type { Hold } from '../lib/answerMemory.ts';
import type { Encoding, Message } from './encoding.ts';
import type { Entry } from './entry.ts';
import type { Live } from './live.ts';
import type { Outlet } from './outlet.ts';

/** Bytes that may lie unread; beyond it nothing is sent until all of them are taken. */
const unsentBytesMax = 256 * 1024;
/** With so much or less unread the next snapshot is made; more than what a socket takes before it says when it is empty. */
const lowBytes = 128 * 1024;
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

/**
 * One connection: what it wants to hear and how far it has heard it. It is a place in the feed and no queue: one that
 * does not read is left where it is, at no cost, and brought up to date when it reads again.
 */
export class Subscriber {
  readonly outlet: Outlet;
  readonly #live: Live;
  readonly #clock: Clock;
  readonly #principal: Principal;
  readonly #topics = new Set<Topic>();
  /** Of those, the ones whose events it has missed and whose state it has not been told yet. */
  readonly #lost = new Set<Topic>();
  /** Topics whose snapshots are still to come. */
  #untold = 0;
  /** Counts what it has not taken. */
  readonly #hold: Hold;
  #handedBytes = 0;
  /** Each ends a wait for what it was sent to be taken. */
  readonly #waiting = new Set<() => void>();
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

  constructor(options: {
    outlet: Outlet;
    principal: Principal;
    live: Live;
    clock: Clock;
    endsWith: string | null;
  }) {
    const { outlet, principal, live } = options;
    this.outlet = outlet;
    this.#principal = principal;
    this.#live = live;
    this.#hold = live.answers.hold(principal, {
      held: () => outlet.unsentBytes,
      taken: () => this.#handedBytes - outlet.unsentBytes,
      cut: () => this.end(closeCodes.tryAgainLater, 'it reads too slowly, and others need the room'),
    });
    this.#clock = options.clock;
    this.#endsWith = options.endsWith;
    this.#joinedAt = this.#clock.monotonic();
  }

  get topics(): ReadonlySet<Topic> {
    return this.#topics;
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended';
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
    const asked = [...new Set(topics)];
    const fresh = asked.filter((topic) => !this.#topics.has(topic));
    // Of one alone it turns out by itself.
    if (asked.length > 1) await this.#live.snapshots.assertKnown(asked);
    try {
      const left = since === null ? asked : await this.#replay(asked, since);
      await this.#show(left, since === null ? 'new' : 'gap');
    } catch (error) {
      this.unsubscribe(fresh);
      throw error;
    }
  }

  unsubscribe(topics: readonly Topic[]): void {
    for (const topic of topics) {
      this.#lost.delete(topic);
      if (this.#topics.delete(topic)) this.#live.unlisten(topic);
    }
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
    const encoding = this.#encoding;
    const key = `${encoding.name} ${wanted.map(({ seq }) => seq).join()}`;
    const known = shared.get(key);
    const bytes = known ?? Buffer.concat(wanted.map((entry) => entry.bytes(encoding)));
    if (known === undefined) shared.set(key, bytes);
    this.#hand(bytes);
    if (wanted.some((entry) => this.#isEnd(entry))) this.#jobEnded();
  }

  #wants({ topics }: Entry): boolean {
    return topics.some((topic) => this.#hears(topic as Topic));
  }

  #hears(topic: Topic): boolean {
    return this.#topics.has(topic) && !this.#lost.has(topic);
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
    for (const resolve of this.#waiting) resolve();
    this.#hold.release();
    this.unsubscribe([...this.#topics]);
    this.#live.leave(this);
  }

  #add(topic: Topic): void {
    if (this.#state === 'ended' || this.#topics.has(topic)) return;
    this.#topics.add(topic);
    this.#live.listen(topic);
  }

  /**
   * Tell what happened to `topics` after `since`, event by event, and of each from now on.
   * @returns those of which that cannot be told.
   */
  async #replay(topics: readonly Topic[], since: number): Promise<readonly Topic[]> {
    while (this.#state === 'behind') await this.#isCurrent.promise;
    this.#live.flush();
    if (this.#state === 'ended') return [];
    const { history } = this.#live;
    const covered = topics.filter((topic) => history.covers(topic, since, false));
    const entries = history
      .after(new Map(covered.map((topic) => [topic, since])))
      .filter((entry) => !this.#hasTold(entry));
    if (this.#isTooMuch(entries)) return topics;
    for (const topic of covered) this.#add(topic);
    this.#tell(entries);
    return topics.filter((topic) => !covered.includes(topic));
  }

  /**
   * Tell the state of each topic, and of each from then on. One after the other: a snapshot is made when the one before
   * it is taken, so a client that names a hundred jobs and reads none of them costs one.
   * @param why a snapshot makes up for nothing, for events before the subscription, or for some that were lost during it.
   * @throws CoordinatorError job_not_found; share_exceeded, rate_limited when unread answers leave no room for one.
   */
  async #show(topics: readonly Topic[], why: 'new' | 'gap' | 'lost'): Promise<void> {
    this.#untold += topics.length;
    let left = topics.length;
    try {
      for (const topic of topics) {
        while (!(await this.#showOne(topic, why)));
        left -= 1;
      }
    } finally {
      this.#untold -= left;
    }
  }

  /** @returns false when it has to be tried again: too much has happened while the state was read. */
  async #showOne(topic: Topic, why: 'new' | 'gap' | 'lost'): Promise<boolean> {
    const { answers, history, snapshots } = this.#live;
    await this.#taken();
    if (this.#state === 'ended') return true;
    const full = answers.refusalOfShare(this.#principal);
    if (full !== null) throw full;
    const shot = await snapshots.read(topic);
    // Ends in the same turn of the event loop in which the last event is told, so nothing falls between.
    this.#live.flush();
    if (this.#hasEnded) return true;
    if (this.isBehind) return false;
    if (!history.covers(topic, shot.seq, true)) return false;
    const isUnwanted = why === 'lost' && !this.#lost.has(topic);
    // From here on nothing waits.
    this.#untold -= 1;
    if (isUnwanted) return true;
    const bytes = this.#encoding(shot.message(why !== 'new' && topic !== 'stats'));
    const refusal = answers.refusal(this.#principal, bytes.length);
    if (refusal !== null) {
      this.#untold += 1;
      throw refusal;
    }
    const entries = history.after(new Map([[topic, shot.seq]])).filter((entry) => !this.#hasTold(entry));
    this.#lost.delete(topic);
    this.#add(topic);
    this.#hand(bytes);
    this.#tell(entries);
    if (shot.isEnded && jobOfTopic(topic) === this.#endsWith) this.#jobEnded();
    return true;
  }

  /** Events that are told besides those of `take`. */
  #tell(entries: readonly Entry[]): void {
    const encoding = this.#encoding;
    this.#cursor = this.#live.feed.seq;
    this.#hand(Buffer.concat(entries.map((entry) => entry.bytes(encoding))));
    if (entries.some((entry) => this.#isEnd(entry))) this.#jobEnded();
  }

  #isEnd({ endedJob }: Entry): boolean {
    return endedJob !== null && endedJob === this.#endsWith;
  }

  /** Resolves when the other side has taken nearly all of what it was sent, or has gone. */
  async #taken(): Promise<void> {
    while (this.#state === 'behind') await this.#isCurrent.promise;
    if (this.#state === 'ended' || this.outlet.unsentBytes <= lowBytes) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.outlet.onTaken(resolve);
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
  }

  /** What is told before the state of every topic was is no place to resume from: the others would be left out then. */
  get #encoding(): Encoding {
    const { encoding, unnumbered } = this.outlet;
    return this.#untold > 0 ? unnumbered : encoding;
  }

  /** Whether a topic it already has has told it of this event. */
  #hasTold({ topics, seq }: Entry): boolean {
    return seq <= this.#cursor && topics.some((topic) => this.#hears(topic as Topic));
  }

  /** After a loss: the newest state of each job that has changed meanwhile, the newest ones when they are too many. */
  #newest(lost: ReadonlySet<string>, told: ReadonlySet<Entry>): Buffer[] {
    const parts: Buffer[] = [];
    let size = 0;
    for (const entry of this.#live.history.newestOfJobs(lost, this.#cursor).reverse()) {
      if (told.has(entry)) continue;
      const bytes = entry.bytesAfterGap(this.#encoding);
      size += bytes.length;
      if (size > replayBytesMax) break;
      parts.push(bytes);
    }
    return parts.reverse();
  }

  #isTooMuch(entries: readonly Entry[]): boolean {
    let size = 0;
    for (const entry of entries) {
      size += entry.bytes(this.#encoding).length;
      if (size > replayBytesMax) return true;
    }
    return false;
  }

  #write(message: Message): void {
    this.#hand(this.#encoding(message));
  }

  #hand(bytes: Buffer): void {
    if (bytes.length > 0) this.outlet.write(bytes);
    this.#handedBytes += bytes.length;
    this.#hold.update();
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
    this.#catchUp().catch((error: unknown) => {
      this.#live.failed(error);
      this.end(closeCodes.tryAgainLater, 'the state could not be read');
    });
  }

  /** Tell what it has missed: event by event where that can be done, else the newest of each job and a snapshot. */
  async #catchUp(): Promise<void> {
    this.#live.flush();
    if (this.#state !== 'behind') return;
    const { feed, history } = this.#live;
    const isWhole = !this.#hasMissed;
    this.#hasMissed = false;
    // Those that are lost already are being told.
    const topics = [...this.#topics].filter((topic) => this.#hears(topic));
    let lost = topics.filter((topic) => !history.covers(topic, this.#cursor, isWhole));
    const kept = topics.filter((topic) => !lost.includes(topic));
    let entries = history.after(new Map(kept.map((topic) => [topic, this.#cursor])));
    if (this.#isTooMuch(entries)) {
      lost = topics;
      entries = [];
    }
    if (lost.length > 0) this.#recoveredAt = this.#clock.monotonic();
    this.#untold += lost.length;
    const newest = this.#newest(new Set(lost), new Set(entries));
    const encoding = this.#encoding;
    this.#untold -= lost.length;
    for (const topic of lost) this.#lost.add(topic);
    this.#current();
    this.#cursor = feed.seq;
    this.#hand(Buffer.concat([...newest, ...entries.map((entry) => entry.bytes(encoding))]));
    if (entries.some((entry) => this.#isEnd(entry))) this.#jobEnded();
    await this.#show(lost, 'lost');
  }

  #jobEnded(): void {
    this.end(1000, 'the job has ended');
  }
}

/** Events that are not remembered: whoever has missed one needs a snapshot. */
function isToldOnce(type: string): boolean {
  return type === 'transition' || type === 'inspected';
}
