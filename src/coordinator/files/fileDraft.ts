import { CoordinatorError, StoreUnavailable } from '../../domain/errors.ts';
import type { FileRecord } from '../../domain/file.ts';
import type { Principal } from '../../domain/key.ts';
import type { Holder } from '../../lib/byteBudget.ts';
import type { BlobDraft } from '../../store/blobs.ts';
import type { FileRoom } from './fileRoom.ts';

/** What is known of a file before it has bytes. */
export interface NewFile extends Pick<FileRecord, 'name' | 'purpose' | 'expiresAt' | 'createdBy'> {
  /** A new one without it. A file that has it already is replaced. */
  id?: string;
  /** Whose share of the files it must fit into; it is held to none without. */
  by?: Principal;
}

/** When a client should try again while the disk takes nothing, seconds. */
const retryAfterSeconds = 60;

/** A file that is being written. Its bytes count from the first one. */
export class FileDraft {
  readonly #about: Omit<FileRecord, 'bytes'>;
  readonly #blob: BlobDraft;
  readonly #room: FileRoom;
  readonly #holder: Holder;
  readonly #forget: () => Promise<void>;
  #bytes = 0;
  #isOver = false;

  /** @param parts.forget removes what an abandoned draft may have left. */
  constructor(
    about: Omit<FileRecord, 'bytes'>,
    parts: { blob: BlobDraft; room: FileRoom; holder: Holder; forget: () => Promise<void> },
  ) {
    this.#about = about;
    this.#blob = parts.blob;
    this.#room = parts.room;
    this.#holder = parts.holder;
    this.#forget = parts.forget;
  }

  /** The record as it would be now. */
  get record(): FileRecord {
    return { ...this.#about, bytes: this.#bytes };
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * One call after the other; after an error only `abandon` makes sense.
   * @throws CoordinatorError share_exceeded, store_unavailable (the disk is full, or all files reach their bound).
   */
  async write(chunk: Uint8Array): Promise<void> {
    this.#room.addBytes(this.#holder, chunk.byteLength);
    this.#bytes += chunk.byteLength;
    await onDisk(() => this.#blob.write(chunk));
  }

  /**
   * Make the bytes durable. The record is returned, and is yet to be stored: by `FileShelf.add`, or by a commit of the caller
   * and `FileShelf.put`. @throws CoordinatorError store_unavailable.
   */
  async finish(): Promise<FileRecord> {
    await onDisk(() => this.#blob.finish());
    return this.record;
  }

  /** Nothing of it remains, unless its record was stored. Never rejects. */
  async abandon(): Promise<void> {
    if (this.#isOver) return;
    this.settle();
    await this.#blob.abandon();
    await this.#forget();
  }

  /** For the shelf: what the draft counted counts no longer, and its bytes stay. */
  settle(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#room.giveBack(this.#holder.keyId, this.#bytes);
  }
}

/** @throws CoordinatorError store_unavailable for an error of the disk, with what to do. */
export async function onDisk<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code !== 'ENOSPC' && code !== 'EDQUOT')
      throw new StoreUnavailable('The file could not be written to the disk; send it again', error);
    throw new CoordinatorError(
      'store_unavailable',
      'The disk of the data folder is full, and nothing of the file was kept; free some space or delete files that are no longer needed, and send this one again',
      { retryAfterSeconds },
      { cause: error },
    );
  }
}
