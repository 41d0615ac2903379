import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import {
  type AckFrame,
  type Assignment,
  type CoordinatorFrame,
  type HelloFrame,
  type WelcomeFrame,
  type WireLease,
  type WorkerFrame,
  workerSubprotocol,
} from '../../src/domain/workerProtocol.ts';
import { adminKey, within } from './process.ts';

/** How a socket ended. */
export interface Closed {
  code: number;
  reason: string;
}

/** A socket of a worker that says exactly what the test says: nothing by itself, not even a heartbeat. */
export class WorkerSocket {
  readonly frames: CoordinatorFrame[] = [];
  readonly ended: Promise<Closed>;
  closed: Closed | null = null;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  #watchers: (() => void)[] = [];

  private constructor(url: string) {
    this.#socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/worker`, workerSubprotocol, {
      headers: { authorization: `Bearer ${adminKey}` },
      maxPayload: 64 * 1024 * 1024,
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#socket.once('open', resolve);
      this.#socket.once('error', reject);
    });
    this.#socket.on('error', () => {
      // The coordinator was killed: 'close' follows and tells.
    });
    this.#socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)) as CoordinatorFrame);
      this.#wake();
    });
    this.ended = new Promise((resolve) => {
      this.#socket.on('close', (code, reason) => {
        this.closed = { code, reason: String(reason) };
        this.#wake();
        resolve(this.closed);
      });
    });
  }

  /** Connect; no hello yet. */
  static async open(t: ExecutionContext, url: string): Promise<WorkerSocket> {
    const made = new WorkerSocket(url);
    t.teardown(() => made.drop());
    await within('the socket opens', made.#opened);
    return made;
  }

  /** Connect, say hello and wait for the welcome. */
  static async join(t: ExecutionContext, url: string, more: Partial<HelloFrame> = {}): Promise<WorkerSocket> {
    const made = await WorkerSocket.open(t, url);
    made.send(hello(more));
    await made.frame('welcome');
    return made;
  }

  send(frame: WorkerFrame): void {
    this.raw(JSON.stringify(frame));
  }

  raw(data: string | Buffer): void {
    this.#socket.send(data);
  }

  /** The connection breaks without a word. */
  drop(): void {
    this.#socket.terminate();
  }

  /** Read nothing more, as a process that is stopped: not even a close is answered. */
  deafen(): void {
    this.#socket.pause();
  }

  of<K extends CoordinatorFrame['type']>(type: K): Extract<CoordinatorFrame, { type: K }>[] {
    return this.frames.filter(
      (frame): frame is Extract<CoordinatorFrame, { type: K }> => frame.type === type,
    );
  }

  /** The `nth` frame of this type, counted from 1. @throws Error when the socket ends without. */
  frame<K extends CoordinatorFrame['type']>(
    type: K,
    nth = 1,
  ): Promise<Extract<CoordinatorFrame, { type: K }>> {
    return this.until(`frame ${nth} of type ${type}`, () => this.of(type)[nth - 1]);
  }

  /** What `look` finds, looked at whenever something comes in. */
  until<T>(what: string, look: () => T | undefined): Promise<T> {
    const found = new Promise<T>((resolve, reject) => {
      const again = () => {
        const seen = look();
        if (seen !== undefined) resolve(seen);
        else if (this.closed !== null)
          reject(new Error(`${what}: closed with ${JSON.stringify(this.closed)}`));
        else this.#watchers.push(again);
      };
      again();
    });
    return within(what, found);
  }

  /** The `nth` job it was given, counted from 1. */
  job(nth = 1): Promise<Assignment> {
    return this.until(`job ${nth}`, () => this.of('assign').flatMap(({ jobs }) => jobs)[nth - 1]);
  }

  complete(job: WireLease, output = 'hello'): void {
    this.send(completeFrame(job, output));
  }

  #wake(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const again of watchers) again();
  }
}

/** A hello with a name of its own. */
export function hello(more: Partial<HelloFrame> = {}): HelloFrame {
  return {
    type: 'hello',
    name: `hand-${randomUUID()}`,
    kind: 'cloud',
    providers: ['echo'],
    concurrency: 1,
    ...more,
  };
}

export function completeFrame(
  { job_id, lease }: WireLease,
  output: string,
): WorkerFrame & { type: 'complete' } {
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  return {
    type: 'complete',
    job_id,
    lease,
    result: { output, finish_reason: 'stop', model: null, usage, latency_ms: 1 },
  };
}

/** What a worker makes of a job, and how long it takes. */
export interface Work {
  /** Milliseconds, or until it resolves. */
  after: number | Promise<void>;
  frame: WorkerFrame & { type: 'complete' | 'fail' };
}

/** One lease as its worker remembers it, for ever. */
export interface LeaseLog {
  job: Assignment;
  /** The first outcome that was sent; null while it runs. */
  frame: (WorkerFrame & WireLease) | null;
  ack: AckFrame | null;
}

const reconnectMsMax = 100;

/**
 * A worker that keeps to the protocol and knows nothing else of the coordinator: it connects again whatever happens,
 * lists every lease whose outcome is not acked, says every outcome again until it is, and keeps a log of all of it.
 */
export class DurableWorker {
  readonly log = new Map<string, LeaseLog>();
  /** What the coordinator did against the protocol. */
  readonly faults: string[] = [];
  readonly closes: Closed[] = [];
  welcomes: WelcomeFrame[] = [];
  /** Told of every ack. */
  onAck: (entry: LeaseLog) => void = () => {};
  readonly #url: string;
  readonly #hello: HelloFrame;
  readonly #work: (job: Assignment) => Work;
  readonly #random: () => number;
  readonly #held = new Map<string, LeaseLog>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #socket: WebSocket | null = null;
  #isWelcomed = false;
  #isStopped = false;
  #beat: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(
    t: ExecutionContext,
    options: {
      url: string;
      name: string;
      concurrency: number;
      work: (job: Assignment) => Work;
      random?: () => number;
    },
  ) {
    this.#url = `${options.url.replace(/^http/, 'ws')}/ws/worker`;
    this.#work = options.work;
    this.#random = options.random ?? Math.random;
    this.#hello = hello({ name: options.name, concurrency: options.concurrency, instance: randomUUID() });
    t.teardown(() => this.stop());
    this.#connect();
  }

  /** Leases whose outcome is not acked. */
  get held(): number {
    return this.#held.size;
  }

  /** Close for good, without a word. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    clearInterval(this.#beat);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#socket?.terminate();
  }

  #connect(): void {
    const socket = new WebSocket(this.#url, workerSubprotocol, {
      headers: { authorization: `Bearer ${adminKey}` },
      maxPayload: 64 * 1024 * 1024,
    });
    this.#socket = socket;
    socket.on('error', () => {
      // 'close' follows.
    });
    socket.on('open', () => socket.send(JSON.stringify({ ...this.#hello, running: this.#running() })));
    socket.on('message', (data) => this.#take(JSON.parse(String(data)) as CoordinatorFrame));
    socket.on('close', (code, reason) => {
      if (this.#isWelcomed) this.closes.push({ code, reason: String(reason) });
      this.#isWelcomed = false;
      clearInterval(this.#beat);
      if (this.#isStopped) return;
      this.#retry = setTimeout(() => this.#connect(), this.#random() * reconnectMsMax);
    });
  }

  #running(): WireLease[] {
    return [...this.#held.values()].map(({ job: { job_id, lease } }) => ({ job_id, lease }));
  }

  #take(frame: CoordinatorFrame): void {
    switch (frame.type) {
      case 'welcome':
        this.#isWelcomed = true;
        this.welcomes.push(frame);
        this.#beat = setInterval(() => {
          this.#send({ type: 'heartbeat', running: this.#running() });
        }, frame.heartbeat_interval_seconds * 1000);
        for (const lost of frame.lost) this.#abort(lost);
        for (const { frame: outcome } of this.#held.values()) if (outcome !== null) this.#send(outcome);
        break;
      case 'assign':
        for (const job of frame.jobs) this.#assigned(job);
        break;
      case 'abort':
        this.#abort(frame);
        break;
      case 'ack':
        this.#acked(frame);
        break;
      case 'heartbeat_ack':
        for (const lost of frame.lost) this.#abort(lost);
        break;
      case 'settings':
        break;
      case 'error':
        this.faults.push(`error: ${frame.code} ${frame.message}`);
        break;
    }
  }

  #assigned(job: Assignment): void {
    const key = keyOf(job);
    if (this.log.has(key)) {
      this.faults.push(`lease ${job.lease} of ${job.job_id} was assigned twice`);
      return;
    }
    const entry: LeaseLog = { job, frame: null, ack: null };
    this.log.set(key, entry);
    this.#held.set(key, entry);
    const running = [...this.#held.values()].filter(({ frame }) => frame === null).length;
    if (running > this.#hello.concurrency) this.faults.push(`${running} jobs at once`);
    const { after, frame } = this.#work(job);
    const end = () => this.#outcome(key, frame);
    if (typeof after === 'number') this.#timers.set(key, setTimeout(end, after));
    else void after.then(end);
  }

  #outcome(key: string, frame: WorkerFrame & WireLease): void {
    const entry = this.#held.get(key);
    this.#timers.delete(key);
    if (entry === undefined || entry.frame !== null) return;
    entry.frame = frame;
    this.#send(frame);
  }

  /** What runs is stopped and says so; an outcome that is made stays and is said until it is answered. */
  #abort({ job_id, lease }: WireLease): void {
    const key = keyOf({ job_id, lease });
    clearTimeout(this.#timers.get(key));
    this.#outcome(key, { type: 'aborted', job_id, lease });
  }

  #acked(ack: AckFrame): void {
    const key = keyOf(ack);
    const entry = this.log.get(key);
    if (entry === undefined || entry.frame === null) {
      this.faults.push(`an ack for lease ${ack.lease} of ${ack.job_id}, which said nothing`);
      return;
    }
    if (entry.ack !== null && entry.ack.accepted !== ack.accepted)
      this.faults.push(
        `lease ${ack.lease} of ${ack.job_id} was answered ${entry.ack.accepted} and then ${ack.accepted}`,
      );
    entry.ack ??= ack;
    this.#held.delete(key);
    this.onAck(entry);
  }

  #send(frame: WorkerFrame): void {
    if (this.#isWelcomed && this.#socket?.readyState === WebSocket.OPEN)
      this.#socket.send(JSON.stringify(frame));
  }
}

function keyOf({ job_id, lease }: WireLease): string {
  return `${job_id}#${lease}`;
}
