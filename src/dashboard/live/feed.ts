import { type ReadonlySignal, signal } from '@preact/signals';
import type {
  LiveClientFrame,
  LiveError,
  LiveHello,
  LivePong,
  LiveSnapshot,
  Topic,
} from '../../domain/liveProtocol.ts';
import { topicOfJob } from '../../domain/liveProtocol.ts';

/** An event on the wire. */
export interface LiveFrameEvent {
  type: string;
  seq: number;
  at: string;
  data: unknown;
  gap?: true;
}

type ServerFrame = LiveHello | LiveSnapshot | LivePong | LiveError | LiveFrameEvent;

/** A subscription of a part of the page to a topic. */
export interface Listener {
  /** The state of the topic. Events before it may have been missed, those after it all follow. */
  snapshot(data: unknown): void;
  event(event: LiveFrameEvent): void;
}

/** The part of a WebSocket that is used. */
export interface Wire {
  send(text: string): void;
  close(): void;
  onFrame: (text: string) => void;
  onClose: (code: number) => void;
}

export interface FeedPorts {
  /**
   * `refusal`: why the coordinator would refuse the socket now; null when it would not.
   * @throws ApiError when the key is refused, Unreachable without an answer.
   */
  ticket(): Promise<{ ticket: string; refusal: string | null }>;
  open(ticket: string): Wire;
  /** Epoch ms of this machine. */
  now(): number;
  /** @returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** 0..1. */
  random(): number;
  /** The key is no longer valid. */
  onRefused(error: unknown): void;
  onHello(hello: LiveHello): void;
}

/**
 * - `connecting`  for the first time; nothing is known yet.
 * - `live`        the page is up to date.
 * - `lost`        the page is out of date; the next attempt is at `retryAt`, or running when that is null. `why` is set
 * when
 *                 the coordinator answers but its socket does not open.
 */
export type Connection =
  | { phase: 'connecting' | 'live' }
  | { phase: 'lost'; since: number; retryAt: number | null; why: string | null };

/** Pauses between attempts, ms: doubled each time, and partly random. */
const retryMsMin = 500;
const retryMsMax = 15_000;
/** A page cannot see the pings of the protocol, so it sends its own. */
const pingMs = 20_000;
/** Without any frame for this long the connection counts as dead, whatever the browser reports, ms. */
const silenceMsMax = 45_000;
const closeCodeKeyRefused = 4401;
/** Consecutive times that the coordinator answers but its socket does not open: once may be a restart in between. */
const unopenedMin = 2;
const proxyText =
  'The coordinator answers, but its WebSocket does not open: a proxy in between does not pass on the upgrade of /ws (its headers Upgrade and Connection). See "Behind a reverse proxy" in docs/operations.md.';

/**
 * The live events of the coordinator over one WebSocket, kept connected. Topics are subscribed while they have
 * listeners. After a break it resumes, or gets a snapshot when that is too long ago.
 */
export class LiveFeed {
  readonly #ports: FeedPorts;
  readonly #listeners = new Map<Topic, Set<Listener>>();
  /** Listeners that wait for their first snapshot: events alone mean nothing to them. */
  readonly #awaitingSnapshot = new Set<Listener>();
  readonly #connection = signal<Connection>({ phase: 'connecting' });
  /** Server's clock minus ours, ms. */
  readonly #offsetMs = signal(0);
  #wire: Wire | null = null;
  #isReady = false;
  #isStarted = false;
  #isPaused = false;
  /** Rises with every attempt: frames of earlier attempts are ignored. */
  #attempt = 0;
  #failures = 0;
  /** Consecutive sockets that did not open although the coordinator had answered. */
  #unopened = 0;
  #seq: number | null = null;
  #epoch: string | null = null;
  #heardAt = 0;
  #cancelRetry: (() => void) | null = null;
  #cancelPing: (() => void) | null = null;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  get offsetMs(): ReadonlySignal<number> {
    return this.#offsetMs;
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#connect();
  }

  /** End it; `start` begins again without any earlier state. */
  stop(): void {
    this.#isStarted = false;
    this.#isPaused = false;
    this.#seq = null;
    this.#epoch = null;
    this.#failures = 0;
    this.#unopened = 0;
    this.#drop();
    this.#connection.value = { phase: 'connecting' };
  }

  /** Skip the wait for the next attempt. */
  retryNow(): void {
    if (this.#connection.peek().phase !== 'lost' || this.#cancelRetry === null) return;
    this.#cancelRetry();
    this.#cancelRetry = null;
    void this.#connect();
  }

  /** An invisible page needs no events; when it is visible again it gets new snapshots. */
  setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    if (!isPaused) this.retryNow();
    if (!this.#isReady) return;
    for (const topic of this.#listeners.keys()) {
      this.#say(isPaused ? { type: 'unsubscribe', topics: [topic] } : { type: 'subscribe', topics: [topic] });
    }
  }

  /**
   * Subscribe to a topic. The snapshot is first, also when there are other listeners. @returns a function that ends it.
   */
  listen(topic: Topic, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    listeners.add(listener);
    this.#awaitingSnapshot.add(listener);
    this.#listeners.set(topic, listeners);
    if (this.#isReady && !this.#isPaused) this.#say({ type: 'subscribe', topics: [topic] });
    return () => {
      this.#awaitingSnapshot.delete(listener);
      if (!listeners.delete(listener) || listeners.size > 0) return;
      this.#listeners.delete(topic);
      if (this.#isReady && !this.#isPaused) this.#say({ type: 'unsubscribe', topics: [topic] });
    };
  }

  async #connect(): Promise<void> {
    this.#drop();
    const attempt = this.#attempt;
    const isOurs = (): boolean => this.#isStarted && attempt === this.#attempt;
    const before = this.#connection.peek();
    if (before.phase === 'lost') this.#connection.value = { ...before, retryAt: null };
    try {
      const { ticket, refusal } = await this.#ports.ticket();
      if (!isOurs()) return;
      const wire = this.#ports.open(ticket);
      this.#wire = wire;
      this.#heardAt = this.#ports.now();
      wire.onFrame = (text) => {
        if (isOurs()) this.#take(text);
      };
      wire.onClose = (code) => {
        if (!isOurs()) return;
        if (code === closeCodeKeyRefused) this.#ports.onRefused(null);
        else this.#lost(this.#isReady ? null : this.#whyUnopened(refusal));
      };
      this.#watch();
    } catch (error) {
      if (!isOurs()) return;
      this.#unopened = 0;
      if (isRefusal(error)) this.#ports.onRefused(error);
      else this.#lost(null);
    }
  }

  /** Close the socket and cancel everything that waits for it. */
  #drop(): void {
    this.#attempt += 1;
    this.#isReady = false;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#cancelPing?.();
    this.#cancelPing = null;
    const wire = this.#wire;
    this.#wire = null;
    wire?.close();
  }

  #whyUnopened(refusal: string | null): string | null {
    this.#unopened += 1;
    return refusal ?? (this.#unopened < unopenedMin ? null : proxyText);
  }

  #lost(why: string | null): void {
    this.#drop();
    const { now, after, random } = this.#ports;
    const pause = Math.min(retryMsMin * 2 ** this.#failures, retryMsMax) * (0.5 + random() / 2);
    this.#failures += 1;
    const before = this.#connection.peek();
    const since = before.phase === 'lost' ? before.since : now();
    this.#connection.value = { phase: 'lost', since, retryAt: now() + pause, why };
    this.#cancelRetry = after(pause, () => {
      this.#cancelRetry = null;
      void this.#connect();
    });
  }

  #watch(): void {
    this.#cancelPing = this.#ports.after(pingMs, () => {
      if (this.#ports.now() - this.#heardAt > silenceMsMax) {
        this.#lost(null);
        return;
      }
      if (this.#isReady) this.#say({ type: 'ping' });
      this.#watch();
    });
  }

  #say(frame: LiveClientFrame): void {
    this.#wire?.send(JSON.stringify(frame));
  }

  #take(text: string): void {
    this.#heardAt = this.#ports.now();
    const frame = JSON.parse(text) as ServerFrame;
    if (isHello(frame)) this.#greeted(frame);
    else if (isSnapshot(frame)) this.#tellSnapshot(frame);
    else if (frame.type === 'pong' && 'server_time' in frame) this.#setClock(frame.server_time);
    else if ('seq' in frame && 'data' in frame) this.#tellEvent(frame);
  }

  #greeted(hello: LiveHello): void {
    this.#setClock(hello.server_time);
    const since =
      this.#seq !== null && this.#epoch === hello.epoch ? { since: this.#seq, epoch: hello.epoch } : {};
    // The numbers of another start of the coordinator mean nothing here.
    if (this.#epoch !== hello.epoch) this.#seq = hello.seq;
    this.#epoch = hello.epoch;
    this.#isReady = true;
    this.#failures = 0;
    this.#unopened = 0;
    this.#ports.onHello(hello);
    if (!this.#isPaused) {
      // One frame each: a deleted job would refuse the others with it.
      for (const [topic, listeners] of this.#listeners) {
        const isNew = [...listeners].some((listener) => this.#awaitingSnapshot.has(listener));
        this.#say({ type: 'subscribe', topics: [topic], ...(isNew ? {} : since) });
      }
    }
    this.#connection.value = { phase: 'live' };
  }

  #setClock(serverTime: string): void {
    const offset = Date.parse(serverTime) - this.#ports.now();
    // Below a second it is probably the latency of the message.
    this.#offsetMs.value = Math.abs(offset) < 1000 ? 0 : offset;
  }

  #tellSnapshot({ topic, seq, data }: LiveSnapshot): void {
    this.#seq = Math.max(this.#seq ?? 0, seq);
    for (const listener of this.#listeners.get(topic) ?? []) {
      this.#awaitingSnapshot.delete(listener);
      listener.snapshot(data);
    }
  }

  #tellEvent(event: LiveFrameEvent): void {
    this.#seq = Math.max(this.#seq ?? 0, event.seq);
    for (const topic of topicsOf(event)) {
      for (const listener of this.#listeners.get(topic) ?? []) listener.event(event);
    }
  }
}

/** The topics of an event; see docs/live-events.md. */
function topicsOf({ type, data }: LiveFrameEvent): Topic[] {
  if (type === 'stats') return ['stats'];
  if (type === 'transition') return ['machines'];
  if (type === 'inspected') return ['inspect'];
  if (type.startsWith('run.')) return ['runs'];
  if (type.startsWith('worker.')) return ['workers'];
  if (type.startsWith('provider.')) return ['providers'];
  if (type.startsWith('queue.')) return ['queue'];
  const id = typeof data === 'object' && data !== null && 'id' in data ? data.id : null;
  if (!type.startsWith('job.') || typeof id !== 'string') return [];
  return type === 'job.progress' ? [topicOfJob(id)] : ['jobs', topicOfJob(id)];
}

function isHello(frame: ServerFrame): frame is LiveHello {
  return frame.type === 'hello';
}

function isSnapshot(frame: ServerFrame): frame is LiveSnapshot {
  return frame.type === 'snapshot';
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'status' in error && (error.status === 401 || error.status === 403);
}
