import type { LeaseRef } from '../../domain/job.ts';
import type { WorkerKey } from '../../domain/worker.ts';
import type {
  AckFrame,
  AssignFrame,
  Assignment,
  CoordinatorFrame,
  WireLease,
} from '../../domain/workerProtocol.ts';

/** The way to one connected worker; the gateway's socket, or a test's. */
export interface WorkerLink {
  send(frame: Exclude<CoordinatorFrame, AssignFrame>): void;
  /** Hand over jobs, in as many frames as the frame limit asks for. */
  assign(jobs: readonly Assignment[]): void;
  close(code: number, reason: string): void;
}

type Ack = Omit<AckFrame, 'type'>;

/** One connection of one worker, from its hello to its end. Holds no state of jobs. */
export class WorkerSession {
  readonly #link: WorkerLink;
  readonly #onReplaced: () => void;
  #workerId = '';
  #closed = false;
  #outgoing: Assignment[] = [];
  #acks: Ack[] = [];
  /** Whether acks of one turn may share a frame. */
  sharesFrames = false;
  /** Whether the worker takes jobs beyond its slots. */
  holdsAhead = false;
  /** Providers that the worker says run on machines of its owner's, and charge nothing. */
  free: ReadonlySet<string> = new Set();
  /** Monotonic ms of the last frame. */
  heardAt: number;
  /** The key that it came with; its bounds may change. */
  key: WorkerKey;
  /** The interval at which its worker was asked to send heartbeats, ms; 0 before the welcome. */
  beatMs = 0;

  constructor(options: { link: WorkerLink; key: WorkerKey; heardAt: number; onReplaced: () => void }) {
    this.key = options.key;
    this.heardAt = options.heardAt;
    this.#link = options.link;
    this.#onReplaced = options.onReplaced;
  }

  /** The id of its worker; empty until the worker is registered. */
  get workerId(): string {
    return this.#workerId;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  registered(workerId: string): void {
    this.#workerId = workerId;
  }

  /** Jobs that are assigned in one turn of the event loop share a frame. */
  assign(job: Assignment): void {
    this.#outgoing.push(job);
    if (this.#outgoing.length === 1) queueMicrotask(() => this.#flush());
  }

  /** The answer to an outcome. Those of one turn share a frame, if the worker can read that. */
  ack(ack: Ack): void {
    if (!this.sharesFrames) {
      this.send({ type: 'ack', ...ack });
      return;
    }
    this.#acks.push(ack);
    if (this.#acks.length === 1) queueMicrotask(() => this.#flushAcks());
  }

  send(frame: Exclude<CoordinatorFrame, AssignFrame>): void {
    if (!this.#closed) this.#link.send(frame);
  }

  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#flush();
    this.#flushAcks();
    this.#closed = true;
    this.#link.close(code, reason);
  }

  /** The socket has ended. */
  ended(): void {
    this.#closed = true;
    this.#outgoing = [];
    this.#acks = [];
  }

  /** The same worker process has connected again. */
  replaced(): void {
    this.#onReplaced();
  }

  #flush(): void {
    if (this.#outgoing.length === 0 || this.#closed) return;
    const jobs = this.#outgoing;
    this.#outgoing = [];
    this.#link.assign(jobs);
  }

  #flushAcks(): void {
    const acks = this.#acks;
    this.#acks = [];
    const [first, ...others] = acks;
    if (first === undefined) return;
    this.send(others.length === 0 ? { type: 'ack', ...first } : { type: 'acks', acks });
  }
}

export function leaseOf(frame: WireLease): LeaseRef {
  return { jobId: frame.job_id, lease: frame.lease };
}

export function toWireLease(ref: LeaseRef): WireLease {
  return { job_id: ref.jobId, lease: ref.lease };
}
