import { assembleCore } from '../../src/assemble.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { addAmounts, type CostAmounts, noAmounts } from '../../src/domain/cost.ts';
import { silent } from '../../src/lib/log.ts';
import type { JsonStore } from '../../src/store/json/jsonStore.ts';
import { Dice } from '../simulation/dice.ts';
import { SimDisk, SimFiles } from '../simulation/disk.ts';
import { noLock } from '../store/folders.ts';
import { testConfig } from '../support/config.ts';
import { HandWorker } from '../support/coordinator.ts';
import { SimProcess, Timeline } from '../support/timeline.ts';

/** Far longer than anything that a command sets off takes, but for what waits for a time, ms. */
const settleMs = 50;
const steps = 10;
/** `jobs.max_reaps` and `jobs.max_attempts`, as the model has them too. */
export const maxReaps = 1;
export const maxAttempts = 2;
/** The model that every job asks for, and that has a price: a million nano-dollars for an input token. */
export const model = 'm';

/** A real coordinator on a disk in memory, in virtual time, with workers by hand: what a model is held against. */
export class Rig {
  readonly timeline = new Timeline();
  store: JsonStore;
  coordinator: Coordinator;
  /** By name; null while it is not connected. */
  readonly hands = new Map<string, HandWorker | null>();
  readonly #disk: SimDisk;
  #process: SimProcess;
  #starts = 0;

  constructor() {
    const faults = {
      hasDurableWrites: true,
      fastMs: 0.1,
      slowMs: 0.1,
      shortWrites: 0,
      syncErrors: 0,
      openErrors: 0,
      readErrors: 0,
    };
    this.#disk = new SimDisk('/data', faults, new Dice(1, 'disk'));
    ({ store: this.store, coordinator: this.coordinator, process: this.#process } = this.#make());
  }

  get now(): number {
    return this.#process.clock.now();
  }

  /** Begin, or begin again on the same disk. */
  async start(): Promise<void> {
    await this.end(this.coordinator.start());
  }

  /** The process dies, and another one takes its place. Every worker has lost its connection. */
  async restart(): Promise<void> {
    this.#process.end();
    for (const name of this.hands.keys()) this.hands.set(name, null);
    ({ store: this.store, coordinator: this.coordinator, process: this.#process } = this.#make());
    await this.start();
  }

  stop(): void {
    this.#process.end();
  }

  /** Let time pass until something has ended, and a moment more. @throws what it threw. */
  async end<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    await this.timeline.run(this.timeline.now + 60_000, () => isOver);
    await this.pass(settleMs);
    if (!isOver) throw new Error('it does not end');
    return work;
  }

  /** Let time pass. */
  async pass(ms: number): Promise<void> {
    const from = this.timeline.now;
    // In steps, so that what waits for a turn of the event loop gets one also when no event is due.
    for (let step = 1; step <= steps; step += 1) await this.timeline.run(from + (ms * step) / steps);
  }

  /** Connect a worker of `alpha`; of the same name it is the same process. */
  async connect(
    name: string,
    concurrency: number,
    running: { jobId: string; lease: number }[],
  ): Promise<void> {
    const hand = new HandWorker(this.coordinator);
    const hello = {
      kind: 'cloud' as const,
      providers: ['alpha'],
      models: {},
      tags: [],
      version: null,
      host: null,
    };
    this.hands.set(name, hand);
    await this.end(hand.connection.hello({ ...hello, name, concurrency, instance: name }, running));
  }

  /** The connected worker of a name. */
  hand(name: string): HandWorker {
    const hand = this.hands.get(name);
    if (hand === undefined || hand === null) throw new Error(`${name} is not connected`);
    return hand;
  }

  async ledger(): Promise<CostAmounts> {
    const day = 86_400_000;
    const buckets = await this.store.costBuckets(this.now - day, this.now + day, 'total');
    return buckets.reduce((sum, { amounts }) => addAmounts(sum, amounts), noAmounts);
  }

  #make(): { store: JsonStore; coordinator: Coordinator; process: SimProcess } {
    this.#starts += 1;
    const process = new SimProcess(this.timeline, 'coordinator');
    const files = new SimFiles(this.#disk, this.timeline, process, new Dice(this.#starts, 'files'), {
      step: () => {},
    });
    const price = {
      inputPerMillion: 1_000,
      outputPerMillion: 0,
      cachedInputPerMillion: null,
      cacheWritePerMillion: null,
      free: false,
    };
    // Time ends nothing here but a back-off: what silence and timeouts do is the simulation's to show.
    const jobs = {
      heartbeatIntervalSeconds: 1_000_000,
      reapStaleAfterSeconds: 0,
      timeoutSeconds: 0,
      maxReaps,
      maxAttempts,
    };
    const config = testConfig({ jobs, pricing: { alpha: { [model]: price } } });
    const { store, coordinator } = assembleCore({
      config: () => config,
      clock: process.clock,
      random: new Dice(this.#starts, 'coordinator').random,
      logger: silent,
      path: '/data',
      files,
      lock: noLock,
      checkpointBytes: 20_000,
    });
    return { store, coordinator, process };
  }
}
