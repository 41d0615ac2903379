import { type ChunkPart, isTextOnly, joinedParts, lengthOfPart, textOfParts } from '../domain/chunkParts.ts';
import type { JobOutput } from '../domain/liveProtocol.ts';
import type { NumberedEvent } from './numberedEvent.ts';

/** For one job: the newest characters are kept. */
const jobCharactersMax = 256 * 1024;
/** For all jobs: the ones idle for longest lose theirs first. */
const charactersMax = 64 * 1024 * 1024;
/** Memory of a chunk, and of each of its parts, besides their characters. */
const chunkWeight = 192;
const partWeight = 64;

interface Chunk {
  readonly seq: number;
  readonly parts: readonly ChunkPart[];
  readonly entry: NumberedEvent;
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

/** The output of running attempts so far, for viewers who join late. Dropped when the attempt ends. */
export class Outputs {
  readonly #byJob = new Map<string, Output>();
  #weight = 0;

  get size(): number {
    return this.#byJob.size;
  }

  /** Kept characters of all jobs, with the chunks' own memory. */
  get weight(): number {
    return this.#weight;
  }

  /** Add a chunk of a lease. */
  add(jobId: string, lease: number, chunk: Chunk): void {
    const known = this.#byJob.get(jobId);
    const isSame = known?.lease === lease;
    if (!isSame) this.end(jobId);
    const output = isSame ? known : { lease, chunks: [], weight: 0, lastSeq: chunk.seq - 1, droppedSeq: 0 };
    // Set again each time: the map is ordered by the last chunk.
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

  /** Whether the chunk is a duplicate: a worker that has reconnected may repeat itself. */
  has(jobId: string, lease: number, seq: number): boolean {
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

  /** The output so far. */
  text(jobId: string): JobOutput | null {
    const output = this.#byJob.get(jobId);
    if (output === undefined) return null;
    const { lease, chunks, lastSeq } = output;
    const firstSeq = chunks[0]?.seq ?? Number.POSITIVE_INFINITY;
    const parts = joinedParts(chunks.flatMap((chunk) => chunk.parts));
    const text = textOfParts(parts);
    return { lease, seq: lastSeq, text, truncated: firstSeq > 1, ...(isTextOnly(parts) ? {} : { parts }) };
  }

  /** The same, but null when a chunk is missing: dropped here, or lost on its way. */
  whole(jobId: string): Omit<JobOutput, 'truncated'> | null {
    const output = this.text(jobId);
    const kept = this.#byJob.get(jobId)?.chunks.length ?? 0;
    if (output === null || kept !== output.seq) return null;
    const { truncated: _, ...whole } = output;
    return whole;
  }

  /** Whether every chunk after event `seq` is still here. */
  covers(jobId: string, seq: number): boolean {
    return (this.#byJob.get(jobId)?.droppedSeq ?? 0) <= seq;
  }

  /** The chunks sent after event `seq`. */
  after(jobId: string, seq: number): NumberedEvent[] {
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

function weightOf({ parts }: Chunk): number {
  let weight = chunkWeight;
  for (const part of parts) weight += lengthOfPart(part) + partWeight;
  return weight;
}
