import type { Clock, Random } from '../../domain/clock.ts';
import type { Delivery, SendOutcome } from '../../domain/webhook.ts';
import { DeadlineHeap, type HeapNode } from '../../lib/deadlineHeap.ts';
import type { Deadline, Deadlines } from '../core/index.ts';
import { askedWait, failuresMax, isSuccess, probeDelay } from './retries.ts';

/** Messages of which the outcome is being made durable: while the store takes no writes, little more is sent. */
const inFlightMax = 128;
/** It looks at least this often whether something is due: the wall clock may jump. */
const lookMs = 30_000;
/** How long nothing is sent after a message was held up on this side, ms. */
const heldUpMs = 30_000;

interface Due extends HeapNode {
  readonly id: string;
}

/**
 * What waits for one URL, by the time of its next try, and how its receiver has behaved: after failures in a row one
 * message at a time looks whether it is back.
 */
export class SendLane {
  readonly webhookId: string;
  /** In place of the endpoint's own. */
  readonly url: string | undefined;
  /** Of its turns to send. */
  readonly group: string;
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
    { webhookId, url }: Pick<Delivery, 'webhookId' | 'url'>,
    options: { clock: Clock; deadlines: Deadlines; random: Random; pump: () => void },
  ) {
    this.webhookId = webhookId;
    this.url = url;
    this.group = url === undefined ? webhookId : `${webhookId} by jobs`;
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

  /** Nothing waits, and nothing is on its way. */
  get isIdle(): boolean {
    return this.#nodes.size === 0 && this.#inFlight.size === 0;
  }

  /** The next delivery to send now; null when none may be, and then it wakes by itself. */
  get next(): string | null {
    const next = this.#heap.peek();
    const isProbing = this.#failuresInRow >= failuresMax && this.#sending > 0;
    if (next === undefined || isProbing || this.#inFlight.size >= inFlightMax) return null;
    const at = Math.max(next.at, this.#restsUntil);
    const now = this.#clock.now();
    if (at <= now) return next.id;
    this.#wakeAt(at - now);
    return null;
  }

  /** A delivery is sent, and in flight from then on. */
  begin(id: string): void {
    this.forget(id);
    this.#inFlight.add(id);
    this.#sending += 1;
  }

  /** A try has ended, and its outcome is not durable yet; null when nothing was sent after all. */
  tried(outcome: SendOutcome | null): void {
    this.#sending -= 1;
    if (outcome === null) return;
    const now = this.#clock.now();
    if (outcome.isHeldUp === true) {
      this.#rest(now + heldUpMs);
      return;
    }
    if (isSuccess(outcome)) {
      this.trust();
      return;
    }
    this.#failuresInRow += 1;
    if (outcome.status === 429 || outcome.status === 503) this.#rest(now + askedWait(outcome, now));
    // What was sent together fails together: that is one probe.
    if (this.#failuresInRow < failuresMax || this.#sending > 0) return;
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
