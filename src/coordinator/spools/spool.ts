import type { Logger } from '../../lib/log.ts';
import type { BlobAppender, Blobs } from '../../store/blobs.ts';

/** Characters that wait for the disk beyond which nothing more should be added until they are written. */
const pendingMax = 256 * 1024;
/** Bytes of its end that a spool keeps in memory: those who read along need the disk only when they are some seconds behind. */
const tailMax = 4 * 1024;
/** Bytes after which its file is opened again: that is when the space on the disk is looked at. */
const openBytesMax = 64 * 1024;
/** Files of spools that stay open between two lines. Others are opened for each of their lines. */
const openMax = 256;

/** The files of spools that are open. */
export interface OpenSpools {
  count: number;
}

/** One spool while lines are added to it. The first failure of the disk ends it; the lines before it stay. */
export class Spool {
  readonly #id: string;
  readonly #blobs: Blobs;
  readonly #logger: Logger;
  readonly #mayAdd: (bytes: number) => boolean;
  readonly #open: OpenSpools;
  readonly #listeners = new Set<() => void>();
  #pending: string[] = [];
  #pendingLength = 0;
  #size = 0;
  /** Its last bytes, at the end. */
  readonly #tail = Buffer.allocUnsafeSlow(tailMax);
  /** null while its file is closed. */
  #file: BlobAppender | null = null;
  /** Since its file was opened. */
  #openBytes = 0;
  #isWriting = false;
  #isEnding = false;

  /**
   * @param options.mayAdd counts bytes that are about to be written; false when there is no room for them.
   * @param options.open of all spools.
   */
  constructor(options: {
    id: string;
    blobs: Blobs;
    logger: Logger;
    mayAdd: (bytes: number) => boolean;
    open: OpenSpools;
  }) {
    this.#id = options.id;
    this.#blobs = options.blobs;
    this.#logger = options.logger;
    this.#mayAdd = options.mayAdd;
    this.#open = options.open;
  }

  /** Bytes that can be read. */
  get size(): number {
    return this.#size;
  }

  /** What can be read from the beginning of a line on, if memory has it; null when it is on the disk alone. */
  recent(from: number): string | null {
    const bytes = this.#size - from;
    return bytes > tailMax ? null : this.#tail.toString('utf8', tailMax - bytes);
  }

  /** Whether no line will come any more, and its file is closed. */
  get isOver(): boolean {
    return this.#isEnding && !this.#isWriting;
  }

  /** Whether lines wait for the disk. */
  get isFull(): boolean {
    return this.#pendingLength > pendingMax;
  }

  /** Add a line, which can be read soon. Does nothing after the end. @param line without a newline. */
  add(line: string): void {
    if (this.#isEnding) return;
    this.#pending.push(line);
    this.#pendingLength += line.length;
    if (!this.#isWriting) void this.#write();
  }

  /** Add no more; what was added is still written. */
  end(): void {
    this.#isEnding = true;
    if (this.#isWriting) return;
    if (this.#file === null) this.#notify();
    else void this.#write();
  }

  /** Call `listener` whenever there is more to read, and at the end. The returned function ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when no lines wait for the disk. */
  async written(): Promise<void> {
    if (!this.#isWriting) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = this.onChange(() => {
      if (!this.#isWriting) resolve();
    });
    await promise;
    forget();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#pending.length > 0) {
      const bytes = Buffer.from(`${this.#pending.join('\n')}\n`);
      const length = this.#pendingLength;
      this.#pending = [];
      if (!this.#mayAdd(bytes.length) || !(await this.#append(bytes))) {
        this.#isEnding = true;
        break;
      }
      this.#pendingLength -= length;
      this.#notify();
    }
    this.#pending = [];
    this.#pendingLength = 0;
    if (this.#isEnding) await this.#close();
    this.#isWriting = false;
    this.#notify();
  }

  async #append(bytes: Buffer): Promise<boolean> {
    try {
      this.#file ??= await this.#opened();
      await this.#file.append(bytes);
      this.#size += bytes.length;
      this.#openBytes += bytes.length;
      const last = bytes.subarray(-tailMax);
      this.#tail.copyWithin(0, last.length);
      this.#tail.set(last, tailMax - last.length);
      if (this.#openBytes > openBytesMax || this.#open.count > openMax) await this.#close();
      return true;
    } catch (error) {
      this.#logger.warn({ err: error, blob: this.#id }, 'a stream is recorded no further');
      return false;
    }
  }

  async #opened(): Promise<BlobAppender> {
    const file = await this.#blobs.append(this.#id);
    this.#open.count += 1;
    this.#openBytes = 0;
    return file;
  }

  async #close(): Promise<void> {
    const file = this.#file;
    if (file === null) return;
    this.#file = null;
    this.#open.count -= 1;
    await file.close().catch((error: unknown) => {
      this.#logger.warn({ err: error, blob: this.#id }, 'the file of a recorded stream could not be closed');
    });
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
