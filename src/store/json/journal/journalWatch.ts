/*
 * A look every second whether the journal is still the file at its path. It owns no data; when the file was removed,
 * replaced or cut, the store fails instead of acknowledging what no start would find.
 */

import type { Clock } from '../../../domain/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Journal, JournalLost } from './journal.ts';

/** Between two looks: what is acknowledged into a lost file is at most what came in this time. */
const lookMs = 1_000;

/** What `JournalWatch` works with. */
export interface JournalWatchOptions {
  journal: Journal;
  clock: Clock;
  logger: Logger;
  /** Told once, at the last look. */
  onLost: (lost: JournalLost) => void;
}

/**
 * Looks every second whether the journal is still where it is written. An open file goes on taking writes and syncs after
 * it was unlinked, and after it was cut, so no commit would ever find out. It looks beside the commits, which cost no more.
 */
export class JournalWatch {
  readonly #options: JournalWatchOptions;
  #cancel: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Whether the last look saw nothing at all: it is told once. */
  #isBlind = false;

  constructor(options: JournalWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(lookMs, () => {
      this.#looking = this.#look();
    });
  }

  /** Wait for the look that is under way; there is no other. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { journal, logger, onLost } = this.#options;
    try {
      const lost = await journal.look();
      this.#isBlind = false;
      if (lost !== null) {
        onLost(lost);
        return;
      }
    } catch (error) {
      // Not to be allowed to look is not a loss; whether writes still succeed is for the commits to find out.
      if (!this.#isBlind)
        logger.warn({ err: error }, 'whether the journal is still in its place cannot be seen');
      this.#isBlind = true;
    }
    if (!this.#isClosed) this.start();
  }
}
