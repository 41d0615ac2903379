/* Assigns changes to segments, and closes full segments. In memory during one checkpoint. */

import type { JobRequest } from '../../../domain/job.ts';
import type { StoredJobChange } from '../../durableLog.ts';
import { segmentJobsMax, segmentRequestBytesMax } from '../layout.ts';
import type { SegmentEntry } from './manifest.ts';

/** A change of a job; `archived` is the last one. */
export type SegmentChange = StoredJobChange | 'archived';

/** The changes of the jobs of one segment, by ordinal, each job's in order. */
export type SegmentChanges = Map<number, SegmentChange[]>;

/** Bytes of a request's JSON; they decide when a segment is full. */
export function requestBytes(request: JobRequest): number {
  return Buffer.byteLength(JSON.stringify(request));
}

/** Assigns changes to segments; closes segments and starts new ones as jobs are created. */
export class SegmentPlans {
  readonly all: { entry: SegmentEntry | null; first: number; changes: SegmentChanges }[] = [];
  /** Jobs that the journals create, by id: their later changes may be in the same record, without an ordinal. */
  readonly #created = new Map<string, number>();
  #lastOrdinal: number;
  /** Of the last segment. */
  #requestBytes = 0;

  constructor(entries: readonly SegmentEntry[], lastOrdinal: number) {
    this.#lastOrdinal = lastOrdinal;
    for (const entry of entries) {
      this.all.push({ entry, first: entry.first, changes: new Map() });
      this.#requestBytes = entry.requestBytes;
    }
  }

  /** @throws Error when the changed job was never created. */
  add(change: StoredJobChange): void {
    this.#put(
      change.created === undefined ? this.#ordinalOf(change) : this.#create(change.id, change.created),
      change,
    );
  }

  /** Jobs have left for the archive. */
  archive(ordinals: readonly number[]): void {
    for (const ordinal of ordinals) this.#put(ordinal, 'archived');
  }

  /** The last used ordinal. */
  get lastOrdinal(): number {
    return this.#lastOrdinal;
  }

  #put(ordinal: number, change: SegmentChange): void {
    const segment = this.#segmentOf(ordinal);
    const earlier = segment.changes.get(ordinal);
    if (earlier === undefined) segment.changes.set(ordinal, [change]);
    else earlier.push(change);
  }

  #ordinalOf(change: StoredJobChange): number {
    const ordinal = change.ordinal ?? this.#created.get(change.id);
    if (ordinal === undefined || ordinal > this.#lastOrdinal)
      throw new Error(`job ${change.id} was never created`);
    return ordinal;
  }

  #create(id: string, { request }: { request: JobRequest }): number {
    this.#lastOrdinal += 1;
    this.#created.set(id, this.#lastOrdinal);
    const last = this.all[this.all.length - 1];
    const isFull =
      last === undefined ||
      this.#lastOrdinal - last.first >= segmentJobsMax ||
      this.#requestBytes >= segmentRequestBytesMax;
    if (isFull) {
      this.all.push({ entry: null, first: this.#lastOrdinal, changes: new Map() });
      this.#requestBytes = 0;
    }
    this.#requestBytes += requestBytes(request);
    return this.#lastOrdinal;
  }

  #segmentOf(ordinal: number): { changes: SegmentChanges } {
    let low = 0;
    let high = this.all.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.all[middle]?.first ?? 0) <= ordinal) low = middle;
      else high = middle - 1;
    }
    const segment = this.all[low];
    if (segment === undefined) throw new Error(`there is no segment for job number ${ordinal}`);
    return segment;
  }
}
