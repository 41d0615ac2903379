import { createHash } from 'node:crypto';

/** Lines that are kept for the report of a failure. */
const linesKept = 60;

/** What happened, line by line. Two runs are the same when their hashes are. */
export class History {
  readonly #hash = createHash('sha256');
  readonly #last: string[] = [];
  readonly #now: () => number;
  readonly #tell: ((line: string) => void) | null;
  count = 0;

  /** @param tell shown every line as it comes, for `--trace`. */
  constructor(now: () => number, tell: ((line: string) => void) | null) {
    this.#now = now;
    this.#tell = tell;
  }

  add(who: string, what: string): void {
    const line = `${this.#now().toFixed(3).padStart(12)} ${who.padEnd(14)} ${what}`;
    this.#hash.update(line);
    this.count += 1;
    this.#last.push(line.slice(0, 400));
    if (this.#last.length > 2 * linesKept) this.#last.splice(0, linesKept);
    this.#tell?.(line);
  }

  /** SHA-256 of all lines, hex. To be called once. */
  digest(): string {
    return this.#hash.digest('hex');
  }

  get last(): string[] {
    return this.#last.slice(-linesKept);
  }
}
