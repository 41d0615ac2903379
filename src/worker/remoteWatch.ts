import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { RemoteFile } from './remoteConfig.ts';

const intervalMs = 60_000;

export interface RemoteWatchOptions {
  /** @returns null when nothing has changed. */
  read: () => Promise<RemoteFile | null>;
  clock: Clock;
  /** Called after every successful read; null when nothing has changed. */
  onRead: (file: RemoteFile | null) => Promise<void>;
  /** Called when the problem differs from that of the last read, and when it is over. */
  onProblem: (message: string) => void;
  onRecovered: () => void;
}

/** Reads the remote configuration every minute, and at once on request. One read at a time. */
export class RemoteWatch {
  readonly #options: RemoteWatchOptions;
  #problem: string | null;
  #takeBack: (() => void) | null = null;
  #isReading = false;
  #again = false;
  #isStopped = false;

  /** @param problem of the read before, if any. */
  constructor(options: RemoteWatchOptions, problem: string | null) {
    this.#options = options;
    this.#problem = problem;
  }

  start(): void {
    this.#later();
  }

  stop(): void {
    this.#isStopped = true;
    this.#takeBack?.();
    this.#takeBack = null;
  }

  /** Read now; if a read is running, once more after it, because it may have begun too early. */
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
    const { read, onRead, onProblem, onRecovered } = this.#options;
    try {
      const file = await read();
      if (this.#isStopped) return;
      await onRead(file);
      if (this.#problem !== null) onRecovered();
      this.#problem = null;
    } catch (error) {
      const message = messageOf(error);
      if (message !== this.#problem && !this.#isStopped) onProblem(message);
      this.#problem = message;
    }
  }
}
