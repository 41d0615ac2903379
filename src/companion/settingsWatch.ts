import { stat } from 'node:fs/promises';

/** A changed key is used within two seconds; looking at one file twice a second costs nothing. */
const everyMs = 500;

/**
 * Calls `onChange` after a file was changed, created or removed. It polls: editors replace files,
 * and network file systems report nothing.
 */
export class SettingsWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  #seen: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(path: string, onChange: () => void) {
    this.#path = path;
    this.#onChange = onChange;
  }

  /** From what the file is now. */
  async start(): Promise<void> {
    await this.know();
    this.#timer = setInterval(() => void this.#check(), everyMs);
  }

  /** What the file is now is known: a change of our own. */
  async know(): Promise<void> {
    this.#seen = await this.#look();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const now = await this.#look();
    if (now === this.#seen) return;
    this.#seen = now;
    this.#onChange();
  }

  #look(): Promise<string> {
    return stat(this.#path).then(
      ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
      () => 'none',
    );
  }
}
