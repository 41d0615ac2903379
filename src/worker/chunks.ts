import type { Clock } from '../domain/clock.ts';
import type { ChunkFrame } from '../domain/workerProtocol.ts';
import type { Run } from './run.ts';

/** 20 frames a second for a job: smooth to the eye, and bounded however fast a model talks. */
const intervalMs = 50;
/** Characters a frame; far below the frame limit even when each takes six bytes. What is over waits for the next. */
const textMax = 1024 * 1024;

/**
 * Gathers streamed output and sends it as `chunk` frames, all jobs in one beat. A run that ends before the beat
 * sends none: its outcome carries the whole output. One that ends later first sends what is left, so that those who
 * watch see all of it. Chunks are for watching only; they are not sent again.
 */
export class ChunkPacer {
  readonly #clock: Clock;
  readonly #send: (frame: ChunkFrame) => boolean;
  readonly #isBackedUp: () => boolean;
  readonly #runs = new Set<Run>();
  #takeBack: (() => void) | null = null;

  /**
   * @param send false when there is no connection; the text waits then.
   * @param isBackedUp whether the connection has enough to carry: live output may wait, outcomes go first.
   */
  constructor(clock: Clock, send: (frame: ChunkFrame) => boolean, isBackedUp: () => boolean) {
    this.#clock = clock;
    this.#send = send;
    this.#isBackedUp = isBackedUp;
  }

  add(run: Run): void {
    this.#runs.add(run);
    this.#takeBack ??= this.#beatLater();
  }

  /** The run is over; its outcome is sent next. */
  end(run: Run): void {
    if (!this.#runs.delete(run)) return;
    const isWatched = run.seq > 0 || this.#clock.monotonic() - run.startedAt > intervalMs;
    while (isWatched && run.unsent !== '' && this.#sendNext(run));
  }

  stop(): void {
    this.#takeBack?.();
    this.#takeBack = null;
    this.#runs.clear();
  }

  #beatLater(): () => void {
    return this.#clock.after(intervalMs, () => {
      this.#takeBack = null;
      for (const run of this.#runs) this.#flush(run);
      if (this.#runs.size > 0) this.#takeBack ??= this.#beatLater();
    });
  }

  #flush(run: Run): void {
    if (run.unsent === '') {
      this.#runs.delete(run);
      return;
    }
    this.#sendNext(run);
  }

  /** @returns whether a piece of it left. */
  #sendNext(run: Run): boolean {
    if (this.#isBackedUp()) return false;
    const text = run.unsent.slice(0, textMax);
    const { job_id, lease } = run.assignment;
    if (!this.#send({ type: 'chunk', job_id, lease, seq: run.seq + 1, text })) return false;
    run.seq++;
    run.unsent = run.unsent.slice(text.length);
    return true;
  }
}
