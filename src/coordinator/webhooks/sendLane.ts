import type { Clock, Random } from '../../domain/clock.ts';
import type { Delivery, SendOutcome } from '../../domain/webhook.ts';
import { DeadlineHeap, type HeapNode } from '../../lib/deadlineHeap.ts';
import type { Deadline, Deadlines } from '../core/index.ts';
import { askedWait, failuresMax, isSuccess, probeDelay } from './retries.ts';

/** Messages to one endpoint at a time. */
const sendingMax = 16;
/** With those of which the outcome is being made durable: while the store takes no writes, little more is sent. */
const inFlightMax = 128;
/** It looks at least this often whether something is due: the wall clock may jump. */
const lookMs = 30_000;

interface Due extends HeapNode {
  readonly id: string;
}

/**
 * What waits for one endpoint, by the time of its next try, and how the endpoint has behaved: after failures in a row one
 * message at a time looks whether it is back.
 */
export class SendLane {
  readonly webhookId: string;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #random: Random;
  readonly #pump: () => void;
  readonly #heap = new DeadlineHeap<Due>();
  readonly #nodes = new Map<string, Due>();
  readonly #inFlight = new Set<string>();
  #sending = 0;
  #wake: Deadline | null = null;
  #failuresInRow = 0;
  #failedProbes = 0;
  /** Epoch ms before which nothing is sent. */
  #restsUntil = 0;

  /** @param options.pump is called when something may be due. */
  constructor(
    webhookId: string,
    options: { clock: Clock; deadlines: Deadlines; random: Random; pump: () => void },
  ) {
    this.webhookId = webhookId;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#random = options.random;
    this.#pump = options.pump;
  }

  /** From when it is sent until its outcome is durable. */
  isInFlight(id: string): boolean {
    return this.#inFlight.has(id);
  }

  /** Have a delivery tried at its time; in place of a time that it had. */
  schedule({ id, nextAt }: Delivery): void {
    this.forget(id);
    if (nextAt === null) return;
    const node: Due = { id, at: nextAt, index: -1 };
    this.#nodes.set(id, node);
    this.#heap.add(node);
  }

  forget(id: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    this.#heap.remove(node);
  }

  /** Forget how it has behaved: its address or its receiver is another one now. */
  trust(): void {
    this.#failuresInRow = 0;
    this.#failedProbes = 0;
    this.#restsUntil = 0;
  }

  /** The next delivery to send now, which is in flight from then on; null when none may be, and then it wakes by itself. */
  take(): string | null {
    const next = this.#heap.peek();
    const limit = this.#failuresInRow >= failuresMax ? 1 : sendingMax;
    if (next === undefined || this.#sending >= limit || this.#inFlight.size >= inFlightMax) return null;
    const at = Math.max(next.at, this.#restsUntil);
    const now = this.#clock.now();
    if (at > now) {
      this.#wakeAt(at - now);
      return null;
    }
    this.forget(next.id);
    this.#inFlight.add(next.id);
    this.#sending += 1;
    return next.id;
  }

  /** A try has ended, and its outcome is not durable yet; null when nothing was sent after all. */
  tried(outcome: SendOutcome | null): void {
    this.#sending -= 1;
    if (outcome === null) return;
    const now = this.#clock.now();
    if (isSuccess(outcome)) {
      this.trust();
      return;
    }
    this.#failuresInRow += 1;
    if (outcome.status === 429 || outcome.status === 503) this.#rest(now + askedWait(outcome, now));
    if (this.#failuresInRow < failuresMax) return;
    this.#rest(now + probeDelay(this.#failedProbes, this.#random));
    this.#failedProbes += 1;
  }

  /** The outcome of a try is durable. */
  landed(id: string): void {
    this.#inFlight.delete(id);
  }

  close(): void {
    this.#deadlines.clear(this.#wake);
    this.#wake = null;
  }

  #rest(until: number): void {
    this.#restsUntil = Math.max(this.#restsUntil, until);
  }

  #wakeAt(inMs: number): void {
    this.#deadlines.clear(this.#wake);
    this.#wake = this.#deadlines.set(this.#clock.monotonic() + Math.min(inMs, lookMs), () => {
      this.#wake = null;
      this.#pump();
    });
  }
}
