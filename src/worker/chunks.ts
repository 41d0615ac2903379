import { isTextOnly, textOfParts } from '../domain/chunkParts.ts';
import type { Clock } from '../domain/clock.ts';
import type { ChunkFrame } from '../domain/workerProtocol.ts';
import type { Run } from './run.ts';

/** 20 frames a second for a job: smooth to the eye, and bounded however fast a model is. */
const intervalMs = 50;
/** The first piece of a job does not wait for the interval: somebody waits for it. A job that is over sooner sends none. */
const firstMs = 5;

/**
 * Collects streamed output and sends it as `chunk` frames: the first piece of a job soon, later ones of all jobs in one
 * interval. A run that ends before its first piece sends none: its outcome carries the whole output. One that ends later
 * first sends the rest, so that viewers see all of it. Chunks are for viewers only and never sent again.
 */
export class ChunkPacer {
  readonly #clock: Clock;
  readonly #send: (frame: ChunkFrame) => boolean;
  readonly #isBackedUp: () => boolean;
  readonly #runs = new Set<Run>();
  /** Whether the coordinator takes reasoning and tool calls. */
  isTyped = false;
  #takeBack: (() => void) | null = null;
  /** Runs that have sent nothing yet. */
  readonly #fresh = new Set<Run>();
  #takeFirstBack: (() => void) | null = null;

  /**
   * @param send returns false without a connection; the text then waits.
   * @param isBackedUp whether the connection is slow: live output then waits, so that outcomes are sent first.
   */
  constructor(clock: Clock, send: (frame: ChunkFrame) => boolean, isBackedUp: () => boolean) {
    this.#clock = clock;
    this.#send = send;
    this.#isBackedUp = isBackedUp;
  }

  add(run: Run): void {
    this.#runs.add(run);
    this.#takeBack ??= this.#beatLater();
    if (run.seq > 0) return;
    this.#fresh.add(run);
    this.#takeFirstBack ??= this.#clock.after(firstMs, () => this.#sendFirst());
  }

  #sendFirst(): void {
    this.#takeFirstBack = null;
    for (const run of this.#fresh) this.#sendNext(run);
    this.#fresh.clear();
  }

  /** The run is over; its outcome is sent next. */
  end(run: Run): void {
    this.#fresh.delete(run);
    if (!this.#runs.delete(run)) return;
    const isWatched = run.seq > 0 || this.#clock.monotonic() - run.startedAt > intervalMs;
    while (isWatched && !run.unsent.isEmpty && this.#sendNext(run));
  }

  stop(): void {
    this.#takeBack?.();
    this.#takeBack = null;
    this.#takeFirstBack?.();
    this.#takeFirstBack = null;
    this.#runs.clear();
    this.#fresh.clear();
  }

  #beatLater(): () => void {
    return this.#clock.after(intervalMs, () => {
      this.#takeBack = null;
      for (const run of this.#runs) this.#flush(run);
      if (this.#runs.size > 0) this.#takeBack ??= this.#beatLater();
    });
  }

  #flush(run: Run): void {
    if (run.unsent.isEmpty) {
      this.#runs.delete(run);
      return;
    }
    this.#sendNext(run);
  }

  /** @returns whether a piece of it was sent. */
  #sendNext(run: Run): boolean {
    if (this.#isBackedUp()) return false;
    const { job_id, lease } = run.assignment;
    if (!this.isTyped) run.unsent.keepText();
    const next = run.unsent.next();
    const { parts } = next;
    if (parts.length === 0) return false;
    // Text alone goes as it always has: shorter, and every coordinator takes it.
    const said = isTextOnly(parts) ? { text: textOfParts(parts) } : { parts };
    if (!this.#send({ type: 'chunk', job_id, lease, seq: run.seq + 1, ...said })) return false;
    run.seq++;
    run.unsent.sent(next);
    return true;
  }
}
