import type { Doer } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { CoordinatorError, messageOf, StoreUnavailable } from '../../domain/errors.ts';
import type { FileRecord } from '../../domain/file.ts';
import { isPrivileged } from '../../domain/key.ts';
import type { Logger } from '../../lib/log.ts';
import { BlobMissing, type Blobs, streamPrefix } from '../../store/blobs.ts';
import type { Change, Store } from '../../store/store.ts';
import { OutcomeUnknown } from '../../store/storeErrors.ts';
import type { Audit } from '../core/index.ts';
import { FileDraft, type NewFile, onDisk } from './fileDraft.ts';
import type { FileRoom } from './fileRoom.ts';

/** Records that are forgotten in one commit. */
const sliceSize = 1_000;

/** Every file, as its record was committed last. */
export class FileShelf {
  readonly #blobs: Blobs;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #audit: Audit;
  readonly #room: FileRoom;
  readonly #newId: () => string;
  readonly #isInUse: (id: string) => boolean;
  readonly #logger: Logger;
  /** By id, in order of creation. */
  readonly #records = new Map<string, FileRecord>();
  /** Those whose bytes are being written, or are written while their record is not stored yet. */
  readonly #drafts = new Map<string, FileDraft>();
  /** Those whose removal is being committed: nothing may begin to use them. */
  readonly #leaving = new Set<string>();

  /** @param options.isInUse whether something still reads or writes the file, so that it must stay. */
  constructor(options: {
    blobs: Blobs;
    store: Store;
    clock: Clock;
    audit: Audit;
    room: FileRoom;
    newId: () => string;
    isInUse: (id: string) => boolean;
    logger: Logger;
  }) {
    this.#blobs = options.blobs;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#audit = options.audit;
    this.#room = options.room;
    this.#newId = options.newId;
    this.#isInUse = options.isInUse;
    this.#logger = options.logger;
  }

  /**
   * Take up the files of an open store. A record without bytes is dropped, and so are bytes without a record.
   * @throws StoreUnusable; the error of the disk.
   */
  async open(): Promise<void> {
    await this.#blobs.open();
    const blobs = new Set(await this.#blobs.list());
    const lost: FileRecord[] = [];
    for (const record of await this.#store.files()) {
      if (blobs.delete(record.id)) this.#show(record);
      else lost.push(record);
    }
    for (const { id, name } of lost)
      this.#logger.error({ file_id: id, name }, 'the bytes of a file are missing; it is dropped');
    await this.#forget(lost).catch((error: unknown) =>
      this.#logger.error({ err: error }, 'files without bytes are dropped again at the next start'),
    );
    for (const id of blobs) if (!id.startsWith(streamPrefix)) await this.#removeBlob(id);
  }

  /** Files that there are. */
  get count(): number {
    return this.#records.size;
  }

  /** Bytes of all files, uploads under way included. */
  get bytes(): number {
    return this.#room.bytes;
  }

  /** @throws CoordinatorError file_not_found. */
  get(id: string): FileRecord {
    const record = this.find(id);
    if (record === undefined) throw fileNotFound(id);
    return record;
  }

  find(id: string): FileRecord | undefined {
    return this.#leaving.has(id) ? undefined : this.#records.get(id);
  }

  /** In order of creation. */
  list(): readonly FileRecord[] {
    const records = [...this.#records.values()];
    return this.#leaving.size === 0 ? records : records.filter(({ id }) => !this.#leaving.has(id));
  }

  /** Begin a file. @throws CoordinatorError share_exceeded, store_unavailable. */
  async begin({ id = this.#newId(), by, ...about }: NewFile): Promise<FileDraft> {
    const keyId = about.createdBy?.keyId ?? '';
    const holder = { keyId, isPrivileged: by === undefined || isPrivileged(by.role) };
    this.#room.addFile(holder);
    try {
      const blob = await onDisk(() => this.#blobs.create(id));
      const createdAt = this.#clock.now();
      const parts = { blob, room: this.#room, holder, forget: () => this.#forgetDraft(id) };
      const draft = new FileDraft({ id, ...about, createdAt }, parts);
      this.#drafts.set(id, draft);
      return draft;
    } catch (error) {
      this.#room.giveBack(keyId, 0);
      throw error;
    }
  }

  /**
   * Store the record of a file whose bytes are finished, and show it.
   * @throws CoordinatorError store_unavailable: then the draft is to be abandoned.
   */
  async add(record: FileRecord): Promise<FileRecord> {
    try {
      await this.#store.commit([{ kind: 'file', file: record }]);
    } catch (error) {
      // The next start may find the record: its bytes must be there then.
      if (error instanceof OutcomeUnknown) this.#settle(record.id);
      throw error;
    }
    return this.put(record);
  }

  /** Show a record that the caller has committed himself. */
  put(record: FileRecord): FileRecord {
    this.#settle(record.id);
    this.#show(record);
    return record;
  }

  /**
   * The bytes of a file, in pieces of some 64 KiB. @param from the first byte. @param to the byte after the last.
   * @throws CoordinatorError file_not_found, store_unavailable when the disk fails.
   */
  async *read(id: string, from = 0, to?: number): AsyncGenerator<Buffer> {
    this.get(id);
    try {
      yield* this.#blobs.read(id, from, to);
    } catch (error) {
      if (error instanceof BlobMissing) throw fileNotFound(id);
      this.#logger.error({ err: error, file_id: id }, 'a file cannot be read');
      throw new StoreUnavailable(`The file cannot be read: ${messageOf(error)}`, error);
    }
  }

  /** Whether its bytes are there: they may have been removed by hand. */
  async isReadable(id: string): Promise<boolean> {
    return (await this.#blobs.size(id)) !== null;
  }

  /**
   * Delete a file. Whoever reads it reads on.
   * @param by for the audit log; null keeps it out of it.
   * @throws CoordinatorError file_not_found, file_in_use; StoreUnavailable.
   */
  async remove(id: string, by: Doer | null): Promise<void> {
    const record = this.get(id);
    if (this.#isInUse(id))
      throw new CoordinatorError(
        'file_in_use',
        'The file is in use by a batch that has not ended; cancel the batch or wait for its end, and delete the file then',
      );
    const note = {
      action: 'file.deleted',
      target: { kind: 'file', id, name: record.name },
      details: { purpose: record.purpose, bytes: record.bytes },
      outcome: 'done',
    } as const;
    await this.#forget([record], by === null ? [] : [this.#audit.change({ by, ...note })]);
  }

  /** Remove files that have expired and that nothing uses. @returns how many. @throws StoreUnavailable. */
  async removeExpired(): Promise<number> {
    let count = 0;
    for (;;) {
      // Looked up again after each commit: a batch may have begun to use one meanwhile.
      const expired = this.#expired().slice(0, sliceSize);
      if (expired.length === 0) return count;
      await this.#forget(expired);
      count += expired.length;
    }
  }

  #expired(): FileRecord[] {
    const now = this.#clock.now();
    return this.list().filter(
      ({ id, expiresAt }) => expiresAt !== null && expiresAt <= now && !this.#isInUse(id),
    );
  }

  /** The records first: bytes without a record are removed at the next start, and a record without bytes is a fault. */
  async #forget(records: readonly FileRecord[], more: readonly Change[] = []): Promise<void> {
    if (records.length === 0) return;
    for (const { id } of records) this.#leaving.add(id);
    try {
      const removals = records.map(({ id }) => ({ kind: 'fileRemoved' as const, id }));
      await this.#store.commit([...removals, ...more]);
      for (const { id } of records) this.#hide(id);
    } finally {
      for (const { id } of records) this.#leaving.delete(id);
    }
    for (const { id } of records) await this.#removeBlob(id);
  }

  #show(record: FileRecord): void {
    this.#hide(record.id);
    this.#records.set(record.id, record);
    this.#room.count(record.createdBy?.keyId ?? '', record.bytes);
  }

  #hide(id: string): void {
    const record = this.#records.get(id);
    if (record === undefined) return;
    this.#records.delete(id);
    this.#room.giveBack(record.createdBy?.keyId ?? '', record.bytes);
  }

  #settle(id: string): void {
    this.#drafts.get(id)?.settle();
    this.#drafts.delete(id);
  }

  async #forgetDraft(id: string): Promise<void> {
    this.#drafts.delete(id);
    if (!this.#records.has(id)) await this.#removeBlob(id);
  }

  async #removeBlob(id: string): Promise<void> {
    try {
      await this.#blobs.remove(id);
    } catch (error) {
      this.#logger.warn({ err: error, blob: id }, 'the bytes of a file stay until the next start');
    }
  }
}

function fileNotFound(id: string): CoordinatorError {
  return new CoordinatorError('file_not_found', `There is no file ${id}`);
}
