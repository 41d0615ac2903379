import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WireStats } from '../../src/domain/wire/stats.ts';
import { HttpClient } from '../support/httpClient.ts';
import { apiKey, type ServerProcess, startCoordinator } from '../support/processes.ts';
import type { Bench } from '../support/scenario.ts';
import { codeOf } from './attacker.ts';

const watchEveryMs = 250;
const askEveryMs = 500;
/** An operator who gets no answer for so long restarts the service, ms. */
const silenceMsMax = 30_000;
/** Of the stated heap: beyond it the process is ended, before the machine has no memory left. */
const swollenHeaps = 3;
const startsMax = 20;

export interface FortressSetup {
  dataDir: string;
  configFile: string;
  port: number;
  heapMiB: number;
}

/** Why the coordinator had to be started again, and how often. */
export interface Deaths {
  /** It ended by itself. */
  crashed: number;
  /** It answered nobody, an operator neither. */
  hung: number;
  /** It took three times its heap. */
  swollen: number;
}

/**
 * The coordinator under siege, with a stated heap, as a supervisor of services runs it: it is started again when it ends,
 * hangs or takes too much memory, and each of that is counted. Meanwhile an operator asks for its figures.
 */
export class Fortress {
  readonly deaths: Deaths = { crashed: 0, hung: 0, swollen: 0 };
  /** Answers to the operator, ms. */
  readonly operatorMs: number[] = [];
  readonly operatorRefusals: Record<string, number> = {};
  peakRssMiB = 0;
  readonly #bench: Bench;
  readonly #setup: FortressSetup;
  readonly #over = new AbortController();
  #server: ServerProcess | null = null;
  #answeredAt = performance.now();
  #loopDelayMs: { p99: number; max: number } | null = null;
  #stats: WireStats | null = null;
  #running: Promise<unknown> = Promise.resolve();
  readonly #startedAt = performance.now();
  /** What ends its processes: they end with it, and not before. */
  readonly #ends: (() => void | Promise<void>)[] = [];

  constructor(bench: Bench, setup: FortressSetup) {
    this.#bench = bench;
    this.#setup = setup;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#setup.port}`;
  }

  /** What it last said of itself; null before it did. */
  get stats(): WireStats | null {
    return this.#stats;
  }

  async start(): Promise<void> {
    await this.#start();
    this.#running = Promise.all([this.#guard(), this.#operate()]);
    this.#bench.defer(() => this.stop());
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
    for (const end of this.#ends.reverse()) await end();
  }

  /** Measure the delay of the event loop and the peak of the memory from now on. */
  async measure(): Promise<void> {
    this.peakRssMiB = 0;
    this.operatorMs.length = 0;
    await this.#server?.measure();
  }

  /** Delay of the event loop since; null when the process that was to measure it has died. */
  async loopDelay(): Promise<{ p99: number; max: number } | null> {
    const server = this.#server;
    this.#loopDelayMs = null;
    if (server !== null && this.#isSame) this.#loopDelayMs = (await server.report()).delayMs;
    return this.#loopDelayMs;
  }

  /** Whether the process is the one that was started first. */
  get #isSame(): boolean {
    const { crashed, hung, swollen } = this.deaths;
    return crashed + hung + swollen === 0;
  }

  async #start(): Promise<void> {
    const { dataDir, configFile, port, heapMiB } = this.#setup;
    const flags = [`--max-old-space-size=${heapMiB}`];
    const bench = { ...this.#bench, defer: (end: () => void | Promise<void>) => void this.#ends.push(end) };
    this.#server = await startCoordinator(bench, dataDir, configFile, { port, flags });
    this.#answeredAt = performance.now();
  }

  async #guard(): Promise<void> {
    const { heapMiB } = this.#setup;
    while (!this.#over.signal.aborted) {
      const server = this.#server;
      if (server === null) return;
      const ended = server.ended.then(() => 'crashed' as const);
      const rssMiB = rssOf(server.pid);
      this.peakRssMiB = Math.max(this.peakRssMiB, rssMiB);
      const fault = await Promise.race([ended, sleep(watchEveryMs).then(() => this.#fault(rssMiB, heapMiB))]);
      if (fault === null || this.#over.signal.aborted) continue;
      this.#say(`the coordinator ${whatOf[fault]} (RSS ${rssMiB.toFixed(0)} MiB); it is started again`);
      this.deaths[fault] += 1;
      await server.kill();
      await this.#startAgain();
    }
  }

  #fault(rssMiB: number, heapMiB: number): keyof Deaths | null {
    if (rssMiB > swollenHeaps * heapMiB) return 'swollen';
    return performance.now() - this.#answeredAt > silenceMsMax ? 'hung' : null;
  }

  async #startAgain(): Promise<void> {
    for (let count = 1; ; count++) {
      try {
        await this.#start();
        this.#say('the coordinator is back');
        return;
      } catch (error) {
        this.deaths.crashed += 1;
        this.#say(`the coordinator did not start: ${codeOf(error)}`);
        if (count >= startsMax) throw error;
        await sleep(1_000);
      }
    }
  }

  #say(message: string): void {
    this.#bench.say(`${((performance.now() - this.#startedAt) / 1000).toFixed(0).padStart(4)} s: ${message}`);
  }

  /** Ask as an operator does who wants to know what is going on. */
  async #operate(): Promise<void> {
    const headers = { authorization: `Bearer ${apiKey}` };
    while (!this.#over.signal.aborted) {
      const client = new HttpClient(this.url, headers, silenceMsMax);
      try {
        while (!this.#over.signal.aborted) {
          const askedAt = performance.now();
          this.#stats = JSON.parse(await client.send('GET', '/api/stats', '', 200)) as WireStats;
          this.#answeredAt = performance.now();
          this.operatorMs.push(this.#answeredAt - askedAt);
          await sleep(askEveryMs);
        }
      } catch (error) {
        const code = codeOf(error);
        this.operatorRefusals[code] = (this.operatorRefusals[code] ?? 0) + 1;
        await sleep(askEveryMs);
      } finally {
        client.destroy();
      }
    }
  }
}

const whatOf: Record<keyof Deaths, string> = {
  crashed: 'has ended by itself',
  hung: `has answered no operator for ${silenceMsMax / 1000} s`,
  swollen: `takes ${swollenHeaps} times its heap`,
};

/** Memory of a process, MiB; 0 when it has gone. On Linux alone. */
function rssOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
