/* The port for bytes that are too many for records: files of clients, outputs of batches, streams that can be resumed.
   What refers to them is in the store; these are only bytes under an id. */

/** Ids that begin so are of streams, and look after themselves: the start removes none of them, and no backup has them. */
export const streamPrefix = 'stream-';

/** There is no blob with that id. */
export class BlobMissing extends Error {
  constructor(id: string) {
    super(`There is no blob ${id}`);
    this.name = 'BlobMissing';
  }
}

/**
 * Bytes under ids, which are made of letters, digits, `-` and `_`. Nobody holds a whole blob in memory.
 *
 * Promises of every implementation:
 * 1. A blob is whole: what `create` began is seen by nobody before `finish`, and a crash leaves nothing of it after the next
 * `open`.
 * 2. What `finish` resolved for survives a power failure; what `append` resolved for survives the end of the process.
 * 3. A reader sees the blob as it was when it began, even if the blob is removed meanwhile.
 */
export interface Blobs {
  /** Once, after the store is open, which has the folder locked. Removes what a crash has left. */
  open(): Promise<void>;
  /** Of all blobs that are whole, and of all that were appended to, in no order. */
  list(): Promise<string[]>;
  /** Begin a blob, in place of the one that has the id, if any. @throws the error of the disk. */
  create(id: string): Promise<BlobDraft>;
  /**
   * The bytes of a blob in pieces of some 64 KiB. @param from the first byte. @param to the byte after the last; the end as it
   * is at the start of the reading when it is left out.
   * @throws BlobMissing; the error of the disk.
   */
  read(id: string, from?: number, to?: number): AsyncGenerator<Buffer>;
  /** How long it is, bytes; null when there is none. */
  size(id: string): Promise<number | null>;
  /** Go on with a blob, or begin one, that is read while it grows. @throws the error of the disk. */
  append(id: string): Promise<BlobAppender>;
  /** Nothing happens when there is none. */
  remove(id: string): Promise<void>;
}

/** A blob that is being written. Every method throws the error of the disk, with its `code`. */
export interface BlobDraft {
  /** One call after the other. */
  write(bytes: Uint8Array): Promise<void>;
  /** Durable, and seen by all, when it resolves. */
  finish(): Promise<void>;
  /** Nothing of it remains. Never rejects, and does nothing after `finish`. */
  abandon(): Promise<void>;
}

/** A blob that grows. */
export interface BlobAppender {
  /** Bytes that are in it. */
  readonly size: number;
  /** One call after the other. @throws the error of the disk. */
  append(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}
