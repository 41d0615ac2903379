import type { Clock } from '../../domain/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Deadlines } from '../core/index.ts';
import type { FileShelf } from './fileShelf.ts';

/** How often it looks: by the wall clock of that moment, which may have jumped since the last look. */
const lookEveryMs = 30_000;

/** Removes files when they expire. Nothing remembers the time of the next one, so a clock that jumps does no harm. */
export class FileExpiry {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #shelf: FileShelf;
  readonly #logger: Logger;
  #isClosed = false;

  constructor(options: { clock: Clock; deadlines: Deadlines; shelf: FileShelf; logger: Logger }) {
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#shelf = options.shelf;
    this.#logger = options.logger;
  }

  /** Look from now on. */
  start(): void {
    this.#deadlines.set(this.#clock.monotonic() + lookEveryMs, () => {
      this.#sweep().then(() => {
        if (!this.#isClosed) this.start();
      });
    });
  }

  close(): void {
    this.#isClosed = true;
  }

  async #sweep(): Promise<void> {
    try {
      const count = await this.#shelf.removeExpired();
      if (count > 0) this.#logger.info({ files: count }, 'removed files that have expired');
    } catch (error) {
      this.#logger.error({ err: error }, 'files that have expired could not be removed; trying again');
    }
  }
}
