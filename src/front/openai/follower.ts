import type { JobLiveEvent } from '../../coordinator/core/index.ts';
import { type ChunkPart, lengthOfPart } from '../../domain/chunkParts.ts';
import type { JobRecord } from '../../domain/job.ts';
import { chunkLengthMax } from '../../domain/workerProtocol.ts';
import type { HttpParts } from '../../http/parts.ts';
import { Sent } from './sent.ts';

/** Takes what a job generates, as it comes. */
export interface PartSink {
  /** It takes nothing more before `drained` resolves. */
  readonly isFull: boolean;
  /** Resolves when it takes more, or never will. */
  drained(): Promise<void>;
  /** The next part of the answer, of the attempt with this lease. */
  take(part: ChunkPart, lease: number): void;
  /** The job is in another state. */
  changed(job: JobRecord): void;
  /** The attempt whose parts were taken has failed, or another one has made the answer. Nothing follows. */
  spoiled(): void;
}

/**
 * The parts of one job's answer in order, each of them once. It gives nothing of an attempt before its first piece, so
 * retries and fallbacks are invisible until then; after that a failed attempt is the end.
 *
 * It follows the job from its construction on. While its sink is full, or when a piece was lost on its way, it skips pieces;
 * it goes on from the output so far when the sink takes more, and at the latest from the result.
 */
export class JobFollower {
  readonly #streams: HttpParts['streams'];
  readonly #sent = new Sent();
  readonly #unsubscribe: () => void;
  #job: JobRecord;
  #sink: PartSink | null = null;
  /** The lease whose pieces are taken, and the last of them. */
  #lease: number | null = null;
  #seq = 0;
  /** Pieces are skipped. */
  #isBehind = true;
  #isOver = false;

  constructor(job: JobRecord, { coordinator, streams }: Pick<HttpParts, 'coordinator' | 'streams'>) {
    this.#job = job;
    this.#streams = streams;
    this.#unsubscribe = coordinator.bus.subscribeJob(job.id, (event) => this.#follow(event));
  }

  /** As it was last seen. */
  get job(): JobRecord {
    return this.#job;
  }

  /** The job was read: perhaps it was assigned by the commit that created it. */
  saw(job: JobRecord): void {
    if (job.version > this.#job.version) this.#job = job;
  }

  /** Give what there is so far, and every part from then on. */
  start(sink: PartSink): void {
    this.#sink = sink;
    this.#catchUp();
  }

  /** Follow the job no longer. */
  close(): void {
    this.#isOver = true;
    this.#unsubscribe();
  }

  /** What is left of the result of a job that has completed, see `Sent.rest`. */
  rest(job: JobRecord): Generator<ChunkPart> | null {
    this.#job = job;
    this.#isBehind = true;
    return this.#sent.rest(job, this.#lease);
  }

  #follow(event: JobLiveEvent): void {
    if (this.#isOver) return;
    if (event.type !== 'job.progress') {
      this.#job = event.job;
      if (event.type === 'job.requeued') this.#attemptEnded();
      if (!this.#isOver) this.#sink?.changed(event.job);
      return;
    }
    if (this.#isBehind) return;
    const { lease, seq } = event;
    if (lease !== this.#lease) {
      this.#attemptEnded();
      if (this.#isOver) return;
      this.#lease = lease;
    }
    // A worker that has reconnected may repeat itself.
    if (seq <= this.#seq) return;
    // Of a longer piece the end is cut off.
    const length = event.parts.reduce((sum, part) => sum + lengthOfPart(part), 0);
    const isWhole = seq === this.#seq + 1 && length < chunkLengthMax - 1;
    if (!isWhole || this.#sink?.isFull !== false) {
      this.#isBehind = true;
      void this.#sink?.drained().then(() => this.#catchUp());
      return;
    }
    this.#seq = seq;
    for (const part of event.parts) this.#take(part, lease);
  }

  /** The attempt whose pieces were taken has failed, or another one has begun. */
  #attemptEnded(): void {
    if (this.#sent.hasAny) {
      this.close();
      this.#sink?.spoiled();
      return;
    }
    this.#lease = null;
    this.#seq = 0;
    this.#isBehind = this.#sink?.isFull !== false;
  }

  /** Give what the running attempt has generated so far, and every piece from then on. */
  #catchUp(): void {
    if (this.#isOver || this.#sink?.isFull !== false) return;
    const soFar = this.#streams.outputSoFar(this.#job.id);
    const isOther = soFar !== null && this.#lease !== null && soFar.lease !== this.#lease;
    if (isOther) this.#attemptEnded();
    if (this.#isOver) return;
    if (soFar === null) {
      // Nothing was lost only while nothing was generated.
      this.#isBehind = this.#lease !== null;
      return;
    }
    this.#isBehind = false;
    const { lease, seq, text, parts = [{ type: 'text', text }] } = soFar;
    this.#lease = lease;
    this.#seq = seq;
    for (const part of this.#sent.unsent(parts)) this.#take(part, lease);
  }

  #take(part: ChunkPart, lease: number): void {
    const next = this.#sent.next(part);
    if (next !== null) this.#sink?.take(next, lease);
  }
}
