import type { JobOutput } from '../domain/liveProtocol.ts';
import type { Entry } from './entry.ts';

/** Of one job: the newest characters are kept. */
const jobCharactersMax = 256 * 1024;
/** Of all jobs: those that have been quiet for longest lose theirs first. */
const charactersMax = 64 * 1024 * 1024;
/** What a chunk weighs besides its text. */
const chunkWeight = 256;

interface Chunk {
  readonly seq: number;
  readonly text: string;
  readonly entry: Entry;
}

interface Output {
  readonly lease: number;
  chunks: Chunk[];
  weight: number;
  /** Number of the last chunk of the worker, kept or not. */
  lastSeq: number;
  /** Number of the newest event whose chunk was dropped; 0 for none. */
  droppedSeq: number;
}

/** What running attempts have said so far, so that a late viewer sees it too. It goes when the attempt ends. */
export class Outputs {
  readonly #byJob = new Map<string, Output>();
  #weight = 0;

  get size(): number {
    return this.#byJob.size;
  }

  /** Characters that are kept, of all jobs, with what the chunks weigh besides. */
  get weight(): number {
    return this.#weight;
  }

  /** Add a chunk of a lease. */
  add(jobId: string, lease: number, chunk: Chunk): void {
    const known = this.#byJob.get(jobId);
    const isSame = known?.lease === lease;
    if (!isSame) this.end(jobId);
    const output = isSame ? known : { lease, chunks: [], weight: 0, lastSeq: chunk.seq - 1, droppedSeq: 0 };
    // Set anew each time: the map is in the order of the last chunk.
    this.#byJob.delete(jobId);
    this.#byJob.set(jobId, output);
    output.chunks.push(chunk);
    output.lastSeq = chunk.seq;
    this.#weigh(output, weightOf(chunk));
    while (output.weight > jobCharactersMax) this.#drop(output);
    for (const oldest of this.#byJob.values()) {
      if (this.#weight <= charactersMax) break;
      while (oldest.chunks.length > 0) this.#drop(oldest);
    }
  }

  /** Whether the chunk was heard before: a worker that has connected again may repeat itself. */
  hasHeard(jobId: string, lease: number, seq: number): boolean {
    const known = this.#byJob.get(jobId);
    return known?.lease === lease && seq <= known.lastSeq;
  }

  /** The attempt has ended. */
  end(jobId: string): void {
    const output = this.#byJob.get(jobId);
    if (output === undefined) return;
    this.#weight -= output.weight;
    this.#byJob.delete(jobId);
  }

  /** The text so far. */
  text(jobId: string): JobOutput | null {
    const output = this.#byJob.get(jobId);
    if (output === undefined) return null;
    const { lease, chunks, lastSeq } = output;
    const firstSeq = chunks[0]?.seq ?? Number.POSITIVE_INFINITY;
    return { lease, seq: lastSeq, text: chunks.map(({ text }) => text).join(''), truncated: firstSeq > 1 };
  }

  /** Whether every chunk after event `seq` is still here. */
  covers(jobId: string, seq: number): boolean {
    return (this.#byJob.get(jobId)?.droppedSeq ?? 0) <= seq;
  }

  /** The chunks told after event `seq`. */
  after(jobId: string, seq: number): Entry[] {
    const chunks = this.#byJob.get(jobId)?.chunks ?? [];
    return chunks.flatMap(({ entry }) => (entry.seq > seq ? [entry] : []));
  }

  #drop(output: Output): void {
    const oldest = output.chunks.shift();
    if (oldest === undefined) return;
    output.droppedSeq = oldest.entry.seq;
    this.#weigh(output, -weightOf(oldest));
  }

  #weigh(output: Output, change: number): void {
    output.weight += change;
    this.#weight += change;
  }
}

function weightOf({ text }: Chunk): number {
  return text.length + chunkWeight;
}
