import type { Config } from '../../config/config.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { filesMax } from '../../domain/file.ts';
import { type BudgetRefusal, ByteBudget, type Holder } from '../../lib/byteBudget.ts';

/** When a client that found no room should try again, seconds: files are deleted, or they expire. */
const retryAfterSeconds = 60;

/** How much there is of files, in all and for each key, against the bounds; uploads under way included. */
export class FileRoom {
  readonly #config: () => Config;
  readonly #bytes: ByteBudget;
  readonly #files: ByteBudget;

  constructor(config: () => Config) {
    this.#config = config;
    this.#bytes = new ByteBudget(() => ({
      bytes: config().front.files.maxBytes,
      share: config().http.shares.files,
    }));
    this.#files = new ByteBudget(() => ({ bytes: filesMax, share: config().http.shares.files }));
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.#bytes.held;
  }

  /** Make room for one more file. @throws CoordinatorError share_exceeded, store_unavailable. */
  addFile(holder: Holder): void {
    const refusal = this.#files.take(holder, 1);
    if (refusal !== null)
      throw this.#refused(refusal, {
        held: `${this.#files.heldBy(holder.keyId)} files`,
        most: this.#files.most(holder),
        bound: `the ${filesMax} files that there may be`,
      });
  }

  /** Make room for more bytes of a file. @throws CoordinatorError share_exceeded, store_unavailable. */
  addBytes(holder: Holder, bytes: number): void {
    const refusal = this.#bytes.take(holder, bytes);
    if (refusal !== null)
      throw this.#refused(refusal, {
        held: `${this.#bytes.heldBy(holder.keyId)} bytes of files`,
        most: this.#bytes.most(holder),
        bound: `front.files.max_bytes: ${this.#config().front.files.maxBytes}`,
      });
  }

  /** Count a file that is there already. */
  count(keyId: string, bytes: number): void {
    const holder = { keyId, isPrivileged: true };
    this.#files.add(holder, 1);
    this.#bytes.add(holder, bytes);
  }

  /** A file, or what there was of one, is gone. */
  giveBack(keyId: string, bytes: number): void {
    const holder = { keyId, isPrivileged: true };
    this.#files.giveBack(holder, 1);
    this.#bytes.giveBack(holder, bytes);
  }

  #refused(
    refusal: BudgetRefusal,
    { held, most, bound }: { held: string; most: number; bound: string },
  ): CoordinatorError {
    if (refusal === 'share')
      return new CoordinatorError(
        'share_exceeded',
        `This key has ${held}, and may have ${most} (http.shares.files of ${bound}); delete files that are no longer needed, and send this one again`,
      );
    return new CoordinatorError(
      'store_unavailable',
      `There is no room for the file: all files together reach their bound (${bound}); delete files that are no longer needed, or wait until some expire`,
      { retryAfterSeconds },
    );
  }
}
