import type { Clock } from '../domain/clock.ts';
import type { WorkerEvents } from './events.ts';
import type { Worker } from './worker.ts';

/** The part of a terminal that the view needs; `process.stdout` is one. */
export interface Terminal {
  write(text: string): unknown;
  /** Characters a line; undefined when unknown. */
  readonly columns?: number | undefined;
}

const repaintMs = 250;
const jobsShownMax = 8;
const columnsDefault = 80;

interface Shown {
  provider: string;
  model: string | null;
  jobId: string;
  startedAt: number;
}

/**
 * The activity of a worker on a terminal: one line for itself, one for each of the first eight jobs, repainted in place
 * at most four times a second. Notices scroll away above. It shows no content of any job.
 */
export class LiveView {
  readonly #worker: Worker;
  readonly #screen: Terminal;
  readonly #clock: Clock;
  readonly #running = new Map<string, Shown>();
  #linkState = 'connecting';
  #paused = false;
  #slots: number;
  #completed = 0;
  #failed = 0;
  #linesPainted = 0;
  #takeBack: (() => void) | null = null;
  #isClosed = false;

  /** Starts at once; `close` ends it. */
  constructor(worker: Worker, slots: number, screen: Terminal, clock: Clock) {
    this.#worker = worker;
    this.#slots = slots;
    this.#screen = screen;
    this.#clock = clock;
    worker.on('connected', ({ paused, concurrency }) => {
      this.#linkState = 'connected';
      this.#settings(paused, concurrency);
    });
    worker.on('disconnected', () => this.#link('connecting'));
    worker.on('draining', () => this.#link('draining'));
    worker.on('settings', ({ paused, concurrency }) => this.#settings(paused, concurrency));
    worker.on('assigned', ({ jobId, lease, provider, model }) => {
      this.#running.set(`${lease}:${jobId}`, { provider, model, jobId, startedAt: clock.monotonic() });
      this.#repaintSoon();
    });
    worker.on('finished', (event) => this.#finished(event));
    worker.on('notice', ({ level, message }) => this.#note(level, message));
    this.#paint();
  }

  /** Keep the last picture on the terminal. */
  close(): void {
    this.#takeBack?.();
    this.#takeBack = null;
    this.#paint();
    this.#isClosed = true;
  }

  #link(state: string): void {
    this.#linkState = state;
    this.#repaintSoon();
  }

  #settings(paused: boolean, concurrency: number): void {
    this.#paused = paused;
    this.#slots = concurrency;
    this.#repaintSoon();
  }

  #finished({ jobId, lease, ending }: WorkerEvents['finished'][0]): void {
    this.#running.delete(`${lease}:${jobId}`);
    if (ending === 'completed') this.#completed++;
    if (ending === 'failed') this.#failed++;
    this.#repaintSoon();
  }

  #note(level: string, message: string): void {
    if (this.#isClosed) return;
    this.#clear();
    const at = new Date(this.#clock.now()).toTimeString().slice(0, 8);
    this.#screen.write(`${at} ${level === 'info' ? '' : `${level}: `}${plain(message)}\n`);
    this.#paint();
  }

  #repaintSoon(): void {
    if (this.#isClosed) return;
    this.#takeBack ??= this.#clock.after(repaintMs, () => {
      this.#takeBack = null;
      this.#paint();
      // The seconds of running jobs change.
      if (this.#running.size > 0) this.#repaintSoon();
    });
  }

  #clear(): void {
    if (this.#linesPainted > 0) this.#screen.write(`\x1b[${this.#linesPainted}A\x1b[J`);
    this.#linesPainted = 0;
  }

  #paint(): void {
    const width = (this.#screen.columns ?? columnsDefault) - 1;
    const lines = [this.#headline(), ...this.#jobLines()].map((line) => line.slice(0, width));
    this.#clear();
    this.#screen.write(`${lines.join('\n')}\n`);
    this.#linesPainted = lines.length;
  }

  #headline(): string {
    const parts = [
      plain(this.#worker.name),
      this.#paused ? `${this.#linkState}, paused` : this.#linkState,
      `${this.#running.size} of ${this.#slots} running`,
      `${this.#completed} completed`,
      `${this.#failed} failed`,
    ];
    const { undelivered } = this.#worker;
    if (undelivered > 0) parts.push(`${undelivered} to deliver`);
    return parts.join(' · ');
  }

  #jobLines(): string[] {
    const now = this.#clock.monotonic();
    const shown = [...this.#running.values()].slice(0, jobsShownMax);
    const lines = shown.map(({ provider, model, jobId, startedAt }) => {
      const seconds = ((now - startedAt) / 1000).toFixed(1);
      return plain(`  ${jobId}  ${provider}${model === null ? '' : ` ${model}`}  ${seconds} s`);
    });
    const more = this.#running.size - shown.length;
    return more > 0 ? [...lines, `  and ${more} more`] : lines;
  }
}

/** Names come from other machines: they must not control the terminal. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?');
}
