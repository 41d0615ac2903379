import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFields } from '../lib/fields.ts';
import { writeWhole } from '../lib/writeWhole.ts';
import type { SupervisedEnd } from '../worker/supervision.ts';
import { adviceForJob } from './advice.ts';
import { type JobFailure, type RunMode, runModes, type Today } from './state.ts';

const failuresMax = 20;
/** Counts are written this long after a change. */
const writeMs = 2_000;

/** What outlives a restart of the companion: whether the worker runs, and the counts of today. */
export class Memory {
  mode: RunMode;
  readonly failures: JobFailure[] = [];
  readonly #path: string;
  #today: Today;
  #count = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @throws as node:fs does when the folder cannot be made. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#path = join(folder, 'memory.json');
    const kept = readKept(this.#path);
    this.mode = runModes.find((mode) => mode === kept.mode) ?? 'on';
    const count = (name: string): number => (Number.isSafeInteger(kept[name]) ? Number(kept[name]) : 0);
    this.#today = {
      day: String(kept.day ?? ''),
      completed: count('completed'),
      failed: count('failed'),
      inputTokens: count('inputTokens'),
      outputTokens: count('outputTokens'),
    };
  }

  get today(): Today {
    const day = localDay();
    if (this.#today.day !== day) {
      this.#today = { day, completed: 0, failed: 0, inputTokens: 0, outputTokens: 0 };
    }
    return this.#today;
  }

  setMode(mode: RunMode): void {
    this.mode = mode;
    this.#writeLater(0);
  }

  add({ jobId, provider, model, ending, errorClass, inputTokens, outputTokens }: SupervisedEnd): void {
    const { today } = this;
    today.inputTokens += inputTokens ?? 0;
    today.outputTokens += outputTokens ?? 0;
    if (ending === 'completed') today.completed += 1;
    if (ending === 'failed') {
      today.failed += 1;
      this.#count += 1;
      const at = new Date().toISOString();
      const advice = adviceForJob(errorClass);
      this.failures.unshift({
        id: this.#count,
        at,
        jobId,
        provider,
        model,
        errorClass: errorClass ?? 'unknown',
        advice,
      });
      this.failures.length = Math.min(this.failures.length, failuresMax);
    }
    this.#writeLater(writeMs);
  }

  /** Write now. A full disk loses the counts of today and nothing else. */
  async write(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const text = JSON.stringify({ mode: this.mode, ...this.today });
    await writeWhole(this.#path, text).catch(() => {});
  }

  #writeLater(ms: number): void {
    if (this.#timer !== null && ms > 0) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.write(), ms);
  }
}

function readKept(path: string): Readonly<Record<string, unknown>> {
  try {
    return parseFields(readFileSync(path, 'utf8')) ?? {};
  } catch {
    return {};
  }
}

/** In the time zone of this machine, such as 2026-11-23. */
function localDay(): string {
  const now = new Date();
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}
