/* Checks every second whether the journal is still the file at its path. It owns no data; when the file was removed,
   replaced or cut, the store fails instead of acknowledging what no start would find. */

import type { Clock } from '../../../domain/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Journal, JournalLost } from './journal.ts';

/** Between two checks: at most what arrives in this time is acknowledged into a lost file. */
const lookMs = 1_000;

/** What `JournalWatch` works with. */
export interface JournalWatchOptions {
  journal: Journal;
  clock: Clock;
  logger: Logger;
  /** Called once, at the last check. */
  onLost: (lost: JournalLost) => void;
}

/**
 * Checks every second whether the journal is still at its path. An open file accepts writes and syncs even after it was
 * unlinked or cut, so no commit would ever notice. The checks run beside the commits and cost them nothing.
 */
export class JournalWatch {
  readonly #options: JournalWatchOptions;
  #cancel: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Whether the last check was impossible: that is reported once. */
  #cannotCheck = false;

  constructor(options: JournalWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(lookMs, () => {
      this.#looking = this.#look();
    });
  }

  /** Wait for the running check; there is no other. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { journal, logger, onLost } = this.#options;
    try {
      const lost = await journal.look();
      this.#cannotCheck = false;
      if (lost !== null) {
        onLost(lost);
        return;
      }
    } catch (error) {
      // A forbidden check is not a loss; the commits notice whether writes still succeed.
      if (!this.#cannotCheck)
        logger.warn({ err: error }, 'cannot check whether the journal is still at its path');
      this.#cannotCheck = true;
    }
    if (!this.#isClosed) this.start();
  }
}
