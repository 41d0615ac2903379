import { Command, pick } from './command.ts';
import { last, lose, type Model, type ModelWorker } from './model.ts';
import type { Rig } from './rig.ts';

export class Connect extends Command {
  readonly name: string;
  readonly slots: number;
  readonly isListing: boolean;
  /** @param isListing whether it comes back with what it ran. */
  constructor(name: string, slots: number, isListing: boolean) {
    super();
    this.name = name;
    this.slots = slots;
    this.isListing = isListing;
  }
  check(model: Readonly<Model>): boolean {
    return !model.workers.some(({ name, isConnected }) => name === this.name && isConnected);
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    let worker = model.workers.find(({ name }) => name === this.name);
    if (worker === undefined) {
      const { name, slots } = this;
      worker = { name, declared: slots, slots, isPaused: false, isConnected: true, ending: [] };
      model.workers.push(worker);
    }
    const running = model.runningOn(this.name);
    const listed = this.isListing ? running : [];
    await rig.connect(
      this.name,
      worker.declared,
      listed.map((job) => ({ jobId: job.id, lease: last(job)?.lease ?? 0 })),
    );
    worker.isConnected = true;
    for (const job of running) {
      if (this.isListing) job.state = 'active';
      else lose(job);
    }
    return !this.isListing && running.length > 0;
  }
  toString(): string {
    return `connect ${this.name} with ${this.slots} slots${this.isListing ? '' : ', empty-handed'}`;
  }
}

/** Something about one of the connected workers. */
abstract class OfWorker extends Command {
  readonly number: number;
  constructor(number: number) {
    super();
    this.number = number;
  }
  check(model: Readonly<Model>): boolean {
    return this.of(model) !== undefined;
  }
  of(model: Readonly<Model>): ModelWorker | undefined {
    return pick(
      model.workers.filter(({ isConnected }) => isConnected),
      this.number,
    );
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    const worker = this.of(model);
    if (worker === undefined) throw new Error('no worker');
    return this.change(worker, model, rig);
  }
  abstract change(worker: ModelWorker, model: Model, rig: Rig): Promise<boolean>;
}

export class Drop extends OfWorker {
  async change(worker: ModelWorker, model: Model, rig: Rig): Promise<boolean> {
    rig.hand(worker.name).drop();
    rig.hands.set(worker.name, null);
    worker.isConnected = false;
    worker.ending = [];
    for (const job of model.runningOn(worker.name)) job.state = 'stuck';
    return false;
  }
  toString(): string {
    return `drop worker ${this.number}`;
  }
}

export class Turn extends OfWorker {
  readonly slots: number | null;
  /** @param slots null: pause or resume it. */
  constructor(number: number, slots: number | null) {
    super(number);
    this.slots = slots;
  }
  async change(worker: ModelWorker, _model: Model, rig: Rig): Promise<boolean> {
    const { id } = rig.hand(worker.name);
    if (this.slots === null) {
      worker.isPaused = !worker.isPaused;
      await rig.end(rig.coordinator.setWorkerPaused(id, worker.isPaused));
    } else {
      worker.slots = this.slots;
      await rig.end(rig.coordinator.setWorkerConcurrency(id, this.slots));
    }
    return false;
  }
  toString(): string {
    return this.slots === null
      ? `pause or resume worker ${this.number}`
      : `resize worker ${this.number} to ${this.slots}`;
  }
}
