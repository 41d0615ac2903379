import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { liveSubprotocol } from '../../src/domain/liveProtocol.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import type { WireStats } from '../../src/domain/wire/stats.ts';
import type { HttpClient } from '../support/httpClient.ts';
import { connect, getJson, post } from '../support/load.ts';
import { apiKey } from '../support/processes.ts';
import type { Bench } from '../support/scenario.ts';
import { ask } from './ask.ts';
import { bodyOf, kindOf, numberOf, plainShare } from './mix.ts';

const connections = 32;
/** Requests that wait for their answers; more of them, and the coordinator has stood still. */
const openMax = 20_000;
const cancelAfterMs = 200;
const pollMs = 200;
const drainedMsMax = 180_000;

/** What was measured since the window before. */
export interface Window {
  jobs: number;
  /** From the moment a job was due to its 201. */
  dispatchMs: number[];
  /** From that moment to the event that it is completed, of jobs that a worker completes at once. */
  resultMs: number[];
}

/** Sends jobs of every kind, cancels and retries those that are to be, and remembers what was acknowledged. */
export class SoakLoad {
  readonly #url: string;
  readonly #clients: HttpClient[];
  readonly #dueAt: number[] = [];
  readonly #ids: string[] = [];
  readonly #retried = new Set<number>();
  #window: Window = emptyWindow();
  #sent = 0;
  #open = 0;
  #failure: Error | null = null;

  constructor(bench: Bench, url: string) {
    this.#url = url;
    this.#clients = Array.from({ length: connections }, () => connect(url));
    bench.defer(() => {
      for (const client of this.#clients) client.destroy();
    });
  }

  /** The ids of the acknowledged jobs, by number. */
  get ids(): readonly string[] {
    return this.#ids;
  }

  /** Numbers of jobs whose retry was acknowledged. */
  get retried(): ReadonlySet<number> {
    return this.#retried;
  }

  /** The window that ends now. */
  takeWindow(): Window {
    const window = this.#window;
    this.#window = emptyWindow();
    return window;
  }

  /** Listen to the events of all jobs. */
  async follow(bench: Bench): Promise<void> {
    const headers = { authorization: `Bearer ${apiKey}` };
    const socket = new WebSocket(`${this.#url.replace('http', 'ws')}/ws`, liveSubprotocol, { headers });
    bench.defer(() => socket.terminate());
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const subscribed = Promise.withResolvers<void>();
    socket.on('message', (data) => {
      const at = performance.now();
      const event: { type: string; data: WireJob } = JSON.parse(String(data));
      if (event.type === 'snapshot') subscribed.resolve();
      else if (event.type === 'job.completed') this.#completed(event.data, at);
      else if (event.type === 'job.failed') this.#failed(event.data);
    });
    socket.send(JSON.stringify({ type: 'subscribe', topics: ['jobs'] }));
    await subscribed.promise;
  }

  /** As many as are answered, for so long, and wait for their ends. @returns jobs done a second meanwhile. */
  async flood(ms: number): Promise<number> {
    this.takeWindow();
    const startedAt = performance.now();
    const endsAt = startedAt + ms;
    const run = async (client: HttpClient) => {
      for (let now = startedAt; now < endsAt; now = performance.now()) await this.#dispatch(client, now);
    };
    await Promise.all(this.#clients.map(run));
    const seconds = (performance.now() - startedAt) / 1000;
    const done = this.takeWindow().resultMs.length / plainShare;
    await this.drained();
    return done / seconds;
  }

  /**
   * So many a second for so long, whatever the answers do.
   * @throws when a request was refused, or the coordinator stands still.
   */
  async steady(perSecond: number, ms: number): Promise<void> {
    const startedAt = performance.now();
    const jobs = Math.round((perSecond * ms) / 1000);
    for (let count = 0; count < jobs; count++) {
      const dueAt = startedAt + (count * 1000) / perSecond;
      const leftMs = dueAt - performance.now();
      if (leftMs > 0) await sleep(leftMs);
      if (this.#open > openMax) throw new Error(`${this.#open} requests have no answer`);
      if (this.#failure !== null) throw this.#failure;
      const client = this.#clients[count % connections] as HttpClient;
      this.#open += 1;
      this.#dispatch(client, dueAt)
        .catch((error: Error) => (this.#failure ??= error))
        .finally(() => (this.#open -= 1));
    }
  }

  /** Wait until no job is pending or running. @throws when that does not come, or a request was refused. */
  async drained(): Promise<void> {
    const endsAt = performance.now() + drainedMsMax;
    const client = this.#clients[0] as HttpClient;
    for (;;) {
      const { jobs } = (await getJson(client, '/api/stats')) as WireStats;
      const { pending, running } = jobs.by_status;
      if (this.#failure !== null) throw this.#failure;
      if (this.#open === 0 && pending + running === 0) return;
      if (performance.now() > endsAt) throw new Error(`${pending} jobs still wait and ${running} still run`);
      await sleep(pollMs);
    }
  }

  async #dispatch(client: HttpClient, dueAt: number): Promise<void> {
    const number = this.#sent;
    this.#sent += 1;
    this.#dueAt[number] = dueAt;
    const { id } = JSON.parse(await post(client, '/api/jobs', bodyOf(number), 201)) as WireJob;
    this.#ids[number] = id;
    this.#window.jobs += 1;
    this.#window.dispatchMs.push(performance.now() - dueAt);
    if (kindOf(number) === 'cancelled') setTimeout(() => this.#later(this.#cancel(id)), cancelAfterMs);
  }

  #completed(job: WireJob, at: number): void {
    const number = numberOf(job);
    if (kindOf(number) !== 'plain') return;
    this.#window.resultMs.push(at - (this.#dueAt[number] ?? Number.NaN));
  }

  #failed(job: WireJob): void {
    const number = numberOf(job);
    if (kindOf(number) === 'retried' && job.retry_count === 0) this.#later(this.#retry(job.id, number));
  }

  async #cancel(id: string): Promise<void> {
    // 409: it was completed first.
    await ask(this.#url, 'POST', `/api/jobs/${id}/cancel`, [200, 409]);
  }

  async #retry(id: string, number: number): Promise<void> {
    await ask(this.#url, 'POST', `/api/jobs/${id}/retry`, [200]);
    this.#retried.add(number);
  }

  #later(change: Promise<void>): void {
    this.#open += 1;
    change.catch((error: Error) => (this.#failure ??= error)).finally(() => (this.#open -= 1));
  }
}

function emptyWindow(): Window {
  return { jobs: 0, dispatchMs: [], resultMs: [] };
}
