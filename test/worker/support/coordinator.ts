import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type {
  AbortedFrame,
  Assignment,
  ChunkFrame,
  CompleteFrame,
  CoordinatorFrame,
  DrainFrame,
  FailFrame,
  HeartbeatFrame,
  HelloFrame,
  OutcomesFrame,
  ReleaseFrame,
  WelcomeFrame,
  WorkerFrame,
} from '../../../src/domain/workerProtocol.ts';

interface Frames {
  hello: HelloFrame;
  heartbeat: HeartbeatFrame;
  chunk: ChunkFrame;
  complete: CompleteFrame;
  fail: FailFrame;
  aborted: AbortedFrame;
  release: ReleaseFrame;
  outcomes: OutcomesFrame;
  drain: DrainFrame;
}

/** Items in order of arrival; a test takes the next, or waits for it. */
class Inbox<T> {
  readonly all: T[] = [];
  #waiting: { test: (item: T) => boolean; resolve: (item: T) => void }[] = [];

  put(item: T): void {
    this.all.push(item);
    const waiting = this.#waiting.find(({ test }) => test(item));
    if (!waiting) return;
    this.#waiting = this.#waiting.filter((other) => other !== waiting);
    waiting.resolve(item);
  }

  /** The next item that passes and that comes from now on. */
  next(test: (item: T) => boolean): Promise<T> {
    return new Promise((resolve) => this.#waiting.push({ test, resolve }));
  }
}

/** One socket of a worker, as the coordinator has it. */
export class Session {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly #inbox = new Inbox<WorkerFrame>();
  readonly closed: Promise<{ code: number; reason: string }>;
  #taken = new Map<string, number>();

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on('message', (data) => this.#inbox.put(JSON.parse(String(data)) as WorkerFrame));
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
  }

  get frames(): readonly WorkerFrame[] {
    return this.#inbox.all;
  }

  of<K extends keyof Frames>(type: K): Frames[K][] {
    return this.frames.filter((frame): frame is Frames[K] & WorkerFrame => frame.type === type);
  }

  /** The next frame of this type that was not taken yet. */
  async take<K extends keyof Frames>(type: K): Promise<Frames[K]> {
    const place = this.#taken.get(type) ?? 0;
    this.#taken.set(type, place + 1);
    while (this.of(type).length <= place) await this.#inbox.next((frame) => frame.type === type);
    const frame = this.of(type)[place];
    if (!frame) throw new Error(`no ${type} frame`);
    return frame;
  }

  send(frame: CoordinatorFrame): void {
    this.socket.send(JSON.stringify(frame));
  }

  raw(text: string | Buffer): void {
    this.socket.send(text);
  }

  welcome(more: Partial<WelcomeFrame> = {}): void {
    this.send({
      type: 'welcome',
      worker_id: 'w-1',
      paused: false,
      concurrency: 2,
      heartbeat_interval_seconds: 10,
      server_time: '2027-01-15T08:00:00.000Z',
      lost: [],
      ...more,
    });
  }

  assign(...jobs: Assignment[]): void {
    this.send({ type: 'assign', jobs });
  }

  ack(of: { job_id: string; lease: number }, accepted = true): void {
    const reason = accepted ? undefined : 'lease_lost';
    this.send({ type: 'ack', job_id: of.job_id, lease: of.lease, accepted, reason });
  }

  abort(of: { job_id: string; lease: number }): void {
    this.send({ type: 'abort', job_id: of.job_id, lease: of.lease, reason: 'cancelled' });
  }

  /** Resolves when the worker has read everything sent before: it answers a ping. */
  async settled(): Promise<void> {
    const pong = once(this.socket, 'pong');
    this.socket.ping();
    await pong;
  }
}

/** A coordinator that does only what the test says. */
export class ScriptedCoordinator {
  readonly #http = createServer((_request, response) => response.writeHead(426).end());
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 32 * 1024 * 1024 });
  readonly #sessions = new Inbox<Session>();
  #taken = 0;
  /** Asked at every upgrade: a status refuses it. */
  admit: (request: IncomingMessage) => number | null = () => null;
  /** Upgrades asked for, refused ones too. */
  attempts = 0;

  static async listen(port = 0): Promise<ScriptedCoordinator> {
    const made = new ScriptedCoordinator();
    made.#http.on('upgrade', (request, socket, head) => {
      made.attempts++;
      const status = made.admit(request);
      if (status !== null) {
        socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
        return;
      }
      made.#sockets.handleUpgrade(request, socket, head, (accepted) => {
        made.#sessions.put(new Session(accepted, request));
      });
    });
    made.#http.listen(port, '127.0.0.1');
    await once(made.#http, 'listening');
    return made;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The next connection that was not taken yet, before its hello. */
  async connection(): Promise<Session> {
    const place = this.#taken++;
    while (this.#sessions.all.length <= place) await this.#sessions.next(() => true);
    const session = this.#sessions.all[place];
    if (!session) throw new Error('no connection');
    return session;
  }

  /** The next connection, after hello and welcome. */
  async session(welcome: Partial<WelcomeFrame> = {}): Promise<Session> {
    const session = await this.connection();
    await session.take('hello');
    session.welcome(welcome);
    return session;
  }

  async close(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#http.close();
    this.#http.closeAllConnections();
    await once(this.#http, 'close');
  }
}
