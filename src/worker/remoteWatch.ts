import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { RemoteFile } from './remoteConfig.ts';

const intervalMs = 60_000;

export interface RemoteWatchOptions {
  /** @returns null when nothing has changed. */
  read: () => Promise<RemoteFile | null>;
  clock: Clock;
  /** After every read that went well; null when nothing has changed. */
  onRead: (file: RemoteFile | null) => Promise<void>;
  /** Told when the trouble is another one than at the last read, and that it is over. */
  onTrouble: (message: string) => void;
  onRecovered: () => void;
}

/** Reads the remote configuration every minute, and at once when asked to. One read at a time. */
export class RemoteWatch {
  readonly #options: RemoteWatchOptions;
  #trouble: string | null;
  #takeBack: (() => void) | null = null;
  #isReading = false;
  #again = false;
  #isStopped = false;

  /** @param trouble what was wrong at the read before, if anything. */
  constructor(options: RemoteWatchOptions, trouble: string | null) {
    this.#options = options;
    this.#trouble = trouble;
  }

  start(): void {
    this.#later();
  }

  stop(): void {
    this.#isStopped = true;
    this.#takeBack?.();
    this.#takeBack = null;
  }

  /** Read now; when a read is under way, once more after it, for it may have begun too early. */
  check(): void {
    this.#again = true;
    if (!this.#isReading) void this.#loop();
  }

  #later(): void {
    if (this.#isStopped) return;
    this.#takeBack?.();
    this.#takeBack = this.#options.clock.after(intervalMs, () => this.check());
  }

  async #loop(): Promise<void> {
    this.#isReading = true;
    while (this.#again && !this.#isStopped) {
      this.#again = false;
      await this.#once();
    }
    this.#isReading = false;
    this.#later();
  }

  async #once(): Promise<void> {
    const { read, onRead, onTrouble, onRecovered } = this.#options;
    try {
      const file = await read();
      if (this.#isStopped) return;
      await onRead(file);
      if (this.#trouble !== null) onRecovered();
      this.#trouble = null;
    } catch (error) {
      const message = messageOf(error);
      if (message !== this.#trouble && !this.#isStopped) onTrouble(message);
      this.#trouble = message;
    }
  }
}
