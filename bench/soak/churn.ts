import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WireWorkerList } from '../../src/domain/wire/worker.ts';
import { LeanSubscriber } from '../support/leanSubscriber.ts';
import { apiKey, type Program, spawnSvc } from '../support/processes.ts';
import type { Bench } from '../support/scenario.ts';
import { ask } from './ask.ts';

const places = 3;
const slots = 50;
const subscribersMax = 20;
const subscribersAtOnce = 5;
const connectedMsMax = 60_000;
const pollMs = 50;

/** What has come and gone. */
export interface Churned {
  stopped: number;
  killed: number;
  subscribers: number;
  keys: number;
  reloads: number;
}

/**
 * Workers that come, leave and die, subscribers that come and go, keys that are made and revoked, and a configuration that
 * is read again: a round of all of it at a time.
 */
export class Churn {
  readonly done: Churned = { stopped: 0, killed: 0, subscribers: 0, keys: 0, reloads: 0 };
  readonly #bench: Bench;
  readonly #url: string;
  readonly #configFile: string;
  #config: object;
  readonly #workers: { name: string; svc: Program }[] = [];
  readonly #subscribers: LeanSubscriber[] = [];
  #round = 0;

  constructor(bench: Bench, options: { url: string; configFile: string; config: object }) {
    this.#bench = bench;
    this.#url = options.url;
    this.#configFile = options.configFile;
    this.#config = options.config;
  }

  /** One worker that stays, and those that will be replaced; resolves when all are connected. */
  async start(): Promise<void> {
    this.#spawn('soak-steady');
    for (let place = 0; place < places; place++) this.#workers.push(this.#spawn(`soak-${place}`));
    await Promise.all(
      ['soak-steady', ...this.#workers.map(({ name }) => name)].map((name) => this.#connected(name)),
    );
  }

  async round(): Promise<void> {
    this.#round += 1;
    await this.#replaceWorker();
    await this.#replaceSubscribers();
    await this.#useKey();
    await this.#reload();
  }

  /** Have the coordinator read another configuration. */
  async configure(config: object): Promise<void> {
    this.#config = config;
    await this.#reload();
  }

  /** In turns one dies and comes back under its name, and one leaves for good and another comes. */
  async #replaceWorker(): Promise<void> {
    const place = this.#round % places;
    const old = this.#workers[place];
    if (old === undefined) return;
    old.svc.assertRuns();
    const ended = once(old.svc.process, 'exit');
    const isKilled = this.#round % 2 === 0;
    old.svc.process.kill(isKilled ? 'SIGKILL' : 'SIGTERM');
    await ended;
    if (isKilled) this.done.killed += 1;
    else {
      await this.#forget(old.name);
      this.done.stopped += 1;
    }
    const next = this.#spawn(isKilled ? old.name : `soak-${place}-${this.#round}`);
    this.#workers[place] = next;
    await this.#connected(next.name);
  }

  async #replaceSubscribers(): Promise<void> {
    const gone = this.#subscribers.splice(0, this.#subscribers.length - subscribersMax + subscribersAtOnce);
    for (const subscriber of gone) subscriber.close();
    while (this.#subscribers.length < subscribersMax) {
      const subscriber = await LeanSubscriber.connect(this.#url, apiKey, 'jobs');
      this.#bench.defer(() => subscriber.close());
      this.#subscribers.push(subscriber);
      this.done.subscribers += 1;
    }
  }

  /** Make a key, live on it, revoke it; the coordinator ends the connection. */
  async #useKey(): Promise<void> {
    const made = await ask(this.#url, 'POST', '/api/keys', [201], { role: 'client', name: 'soak' });
    const { id, key } = JSON.parse(made) as { id: string; key: string };
    const subscriber = await LeanSubscriber.connect(this.#url, key, 'stats');
    const cutOff = subscriber.cutOff();
    await ask(this.#url, 'DELETE', `/api/keys/${id}`, [200, 204]);
    await cutOff;
    this.done.keys += 1;
  }

  async #reload(): Promise<void> {
    const timeout_seconds = 600 + (this.#round % 2);
    writeFileSync(this.#configFile, JSON.stringify({ ...this.#config, jobs: { timeout_seconds } }));
    await ask(this.#url, 'POST', '/api/config/reload', [200]);
    this.done.reloads += 1;
  }

  #spawn(name: string): { name: string; svc: Program } {
    const args = ['worker', '--provider', 'echo', '--name', name, '--concurrency', String(slots)];
    return { name, svc: spawnSvc(this.#bench, [...args, '--coordinator', this.#url], name) };
  }

  async #connected(name: string): Promise<void> {
    const endsAt = performance.now() + connectedMsMax;
    while ((await this.#worker(name))?.connected !== true) {
      if (performance.now() > endsAt) throw new Error(`the worker ${name} did not connect`);
      await sleep(pollMs);
    }
  }

  async #forget(name: string): Promise<void> {
    const worker = await this.#worker(name);
    if (worker === undefined) throw new Error(`the coordinator does not know the worker ${name}`);
    await ask(this.#url, 'DELETE', `/api/workers/${worker.id}`, [200, 204]);
  }

  async #worker(name: string) {
    const { workers } = JSON.parse(await ask(this.#url, 'GET', '/api/workers', [200])) as WireWorkerList;
    return workers.find((worker) => worker.name === name);
  }
}
