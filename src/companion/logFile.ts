import { appendFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type LogLevel = 'info' | 'warn' | 'error';

export interface LogEntry {
  /** Counts up; never used twice while the companion runs. */
  id: number;
  /** ISO 8601. */
  at: string;
  level: LogLevel;
  text: string;
}

/** The file and the one before it have at most this each. */
const fileBytesMax = 1024 * 1024;
const textMax = 1_000;
const keptMax = 100;

/**
 * The log of the companion: the last lines in memory for its page, all of them in a file of at most 1 MiB, beside which
 * one older file is kept. A full disk loses lines and nothing else.
 */
export class LogFile {
  readonly path: string;
  readonly #kept: LogEntry[] = [];
  readonly #onEntry: () => void;
  #bytes: number;
  #count = 0;

  /** @param onEntry called after each line. */
  constructor(folder: string, onEntry: () => void) {
    this.path = join(folder, 'companion.log');
    this.#onEntry = onEntry;
    this.#bytes = sizeOf(this.path);
  }

  get last(): readonly LogEntry[] {
    return this.#kept;
  }

  add(level: LogLevel, message: string): void {
    const text = message.length > textMax ? `${message.slice(0, textMax)}…` : message;
    this.#count += 1;
    const entry = { id: this.#count, at: new Date().toISOString(), level, text };
    this.#kept.push(entry);
    if (this.#kept.length > keptMax) this.#kept.shift();
    this.#append(`${entry.at} ${level.padEnd(5)} ${text.replaceAll(/[\r\n]+/g, ' ')}\n`);
    this.#onEntry();
  }

  #append(line: string): void {
    const bytes = Buffer.byteLength(line);
    try {
      if (this.#bytes + bytes > fileBytesMax) {
        renameSync(this.path, `${this.path}.1`);
        this.#bytes = 0;
      }
      appendFileSync(this.path, line, { mode: 0o600 });
      this.#bytes += bytes;
    } catch {
      // The page still shows it.
    }
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
