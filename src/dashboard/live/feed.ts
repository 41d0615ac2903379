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

/** An event as it stands on the wire. */
export interface LiveFrameEvent {
  type: string;
  seq: number;
  at: string;
  data: unknown;
  gap?: true;
}

type ServerFrame = LiveHello | LiveSnapshot | LivePong | LiveError | LiveFrameEvent;

/** What a part of the page wants to hear of a topic. */
export interface Listener {
  /** The state of the topic. Events before it may have been missed, those after it are all told. */
  snapshot(data: unknown): void;
  event(event: LiveFrameEvent): void;
}

/** The socket, as far as it is used. */
export interface Wire {
  send(text: string): void;
  close(): void;
  onFrame: (text: string) => void;
  onClose: (code: number) => void;
}

export interface FeedPorts {
  /**
   * `refusal`: why the coordinator would refuse the socket now; null when it would not.
   * @throws ApiError when the key is refused, Unreachable when nobody answers.
   */
  ticket(): Promise<{ ticket: string; refusal: string | null }>;
  open(ticket: string): Wire;
  /** Epoch ms of this machine. */
  now(): number;
  /** @returns what cancels it. */
  after(ms: number, run: () => void): () => void;
  /** 0..1. */
  random(): number;
  /** The key is not taken any more. */
  onRefused(error: unknown): void;
  onHello(hello: LiveHello): void;
}

/**
 * - `connecting`  the first time; nothing is known yet.
 * - `live`        what is shown is what is.
 * - `lost`        what is shown is old; tried again at `retryAt`, or just now when that is null. `why` is known when the
 *                 coordinator answers and its socket does not open.
 */
export type Connection =
  | { phase: 'connecting' | 'live' }
  | { phase: 'lost'; since: number; retryAt: number | null; why: string | null };

/** Pauses between attempts, ms: doubled each time, and a part of it left to chance. */
const retryMsMin = 500;
const retryMsMax = 15_000;
/** A page cannot see the pings of the protocol, so it asks by itself. */
const pingMs = 20_000;
/** Without any frame for so long the connection is dead, whatever the browser says, ms. */
const silenceMsMax = 45_000;
const closeCodeKeyRefused = 4401;
/** So often in a row the coordinator has to answer and its socket not to open: once may be a restart in between. */
const unopenedMin = 2;
const proxyText =
  'The coordinator answers, and its WebSocket does not open: a proxy on the way does not pass the upgrade of /ws on (its headers Upgrade and Connection). See "Behind a reverse proxy" in docs/operations.md.';

/**
 * The live events of the coordinator over one WebSocket, kept connected. Topics are subscribed while somebody listens.
 * After a break it goes on where it was, or gets a snapshot when that is too long ago.
 */
export class Feed {
  readonly #ports: FeedPorts;
  readonly #listeners = new Map<Topic, Set<Listener>>();
  /** Those that have had no snapshot yet: events alone tell them nothing. */
  readonly #untold = new Set<Listener>();
  readonly #connection = signal<Connection>({ phase: 'connecting' });
  /** Server's clock minus ours, ms. */
  readonly #offsetMs = signal(0);
  #wire: Wire | null = null;
  #isReady = false;
  #isStarted = false;
  #isPaused = false;
  /** Rises with every attempt: what an older one still brings is not heard. */
  #attempt = 0;
  #failures = 0;
  /** Sockets in a row that did not open though the coordinator had answered. */
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

  /** End it; `start` begins anew and knows nothing of before. */
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

  /** Do not wait for the next attempt. */
  retryNow(): void {
    if (this.#connection.peek().phase !== 'lost' || this.#cancelRetry === null) return;
    this.#cancelRetry();
    this.#cancelRetry = null;
    void this.#connect();
  }

  /** A page that nobody sees needs to hear nothing; shown again it gets fresh snapshots. */
  setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    if (!isPaused) this.retryNow();
    if (!this.#isReady) return;
    for (const topic of this.#listeners.keys()) {
      this.#say(isPaused ? { type: 'unsubscribe', topics: [topic] } : { type: 'subscribe', topics: [topic] });
    }
  }

  /** Hear a topic. The snapshot comes first, also when others listen already. @returns what ends it. */
  listen(topic: Topic, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    listeners.add(listener);
    this.#untold.add(listener);
    this.#listeners.set(topic, listeners);
    if (this.#isReady && !this.#isPaused) this.#say({ type: 'subscribe', topics: [topic] });
    return () => {
      this.#untold.delete(listener);
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

  /** Leave the socket and everything that waits for it. */
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
    // Of another life of the coordinator, its numbers mean nothing here.
    if (this.#epoch !== hello.epoch) this.#seq = hello.seq;
    this.#epoch = hello.epoch;
    this.#isReady = true;
    this.#failures = 0;
    this.#unopened = 0;
    this.#ports.onHello(hello);
    if (!this.#isPaused) {
      // One frame each: a job that is gone would refuse the others with it.
      for (const [topic, listeners] of this.#listeners) {
        const isNew = [...listeners].some((listener) => this.#untold.has(listener));
        this.#say({ type: 'subscribe', topics: [topic], ...(isNew ? {} : since) });
      }
    }
    this.#connection.value = { phase: 'live' };
  }

  #setClock(serverTime: string): void {
    const offset = Date.parse(serverTime) - this.#ports.now();
    // Below a second it is the way of the message, most likely.
    this.#offsetMs.value = Math.abs(offset) < 1000 ? 0 : offset;
  }

  #tellSnapshot({ topic, seq, data }: LiveSnapshot): void {
    this.#seq = Math.max(this.#seq ?? 0, seq);
    for (const listener of this.#listeners.get(topic) ?? []) {
      this.#untold.delete(listener);
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

/** The topics that an event is told in; see docs/live-events.md. */
function topicsOf({ type, data }: LiveFrameEvent): Topic[] {
  if (type === 'stats') return ['stats'];
  if (type === 'transition') return ['machines'];
  if (type === 'inspected') return ['inspect'];
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
