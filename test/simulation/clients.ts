import type { Coordinator, JobView } from '../../src/coordinator/coordinator.ts';
import type { PlannedRequest } from '../../src/coordinator/jobs/intake.ts';
import { CoordinatorError, InvalidTransition } from '../../src/domain/errors.ts';
import type { JobRequest } from '../../src/domain/job.ts';
import { isTerminal, statusOf } from '../../src/domain/states.ts';
import { request } from '../support/coordinator.ts';
import { SimBatches } from './batches.ts';
import type { BulkChanges } from './bulkChanges.ts';
import type { Checker, Told } from './checker.ts';
import type { Dice } from './dice.ts';
import { providerNames } from './fleet.ts';
import type { History } from './history.ts';
import { NamedRuns } from './namedRuns.ts';

/** One request on its way: carried out at the coordinator, if there is one, and answered, if the answer gets through. */
export type Ask = <T>(
  what: string,
  task: (coordinator: Coordinator) => Promise<T>,
  answer: (told: Told, value: T | null, error: unknown) => void,
) => void;

/** Of the request that comes under the key of another one. */
const otherPrompt = 'another request';

/** A job that a client asks for, and the name that the checker knows it by. */
interface Asked {
  name: string;
  request: JobRequest;
}

interface KeyedBatch {
  key: string;
  all: readonly Asked[];
  /** null until some client was told. */
  ids: readonly string[] | null;
}

function namesOf(all: readonly Asked[]): string {
  return all.map(({ name }) => name).join(' ');
}

function plansOf(all: readonly Asked[], coordinator: Coordinator): PlannedRequest[] {
  return all.map(({ request: asked }) => coordinator.plan(asked));
}

/** The crowd of clients: sends work, cancels, retries, turns every knob, and remembers what it was told. */
export class Clients {
  readonly #dice: Dice;
  readonly #ask: Ask;
  readonly #checker: Checker;
  readonly #history: History;
  readonly #wallNow: () => number;
  readonly #bulk: BulkChanges;
  readonly #namedRuns: NamedRuns;
  readonly #files: SimBatches;
  readonly #keys = new Map<string, Asked & { id: string | null }>();
  /** The batches that have a key, and the ids that were told for them. */
  readonly #batches: KeyedBatch[] = [];
  readonly #ids: string[] = [];
  #count = 0;

  constructor(options: {
    dice: Dice;
    ask: Ask;
    checker: Checker;
    history: History;
    wallNow: () => number;
    bulk: BulkChanges;
  }) {
    this.#dice = options.dice;
    this.#ask = options.ask;
    this.#checker = options.checker;
    this.#history = options.history;
    this.#wallNow = options.wallNow;
    this.#bulk = options.bulk;
    const asking = { ...options, request: () => this.#request() };
    this.#namedRuns = new NamedRuns(asking);
    this.#files = new SimBatches(asking);
  }

  /** One thing that some client does. */
  act(): void {
    const choice = this.#dice.int(0, 99);
    if (choice < 40) this.#dispatch();
    else if (choice < 52) this.#dispatchOnce();
    else if (choice < 56) this.#dispatchAll();
    else if (choice < 58) this.#namedRuns.act();
    else if (choice < 70) this.#change('cancel');
    else if (choice < 80) this.#change('retry');
    else if (choice < 88) this.#read();
    else if (choice < 95) this.#turnWorker();
    else if (choice < 96) this.#turnQueue();
    else if (choice < 97)
      this.#ask(
        'reset alpha',
        async (coordinator) => coordinator.resetProvider('alpha'),
        () => {},
      );
    else if (choice < 98) this.#changeMany();
    else if (choice < 99) for (let times = 0; times < 3; times += 1) this.#files.act();
    else for (let times = 0; times < 6; times += 1) this.#namedRuns.act();
  }

  /** At rest. */
  async audit(coordinator: Coordinator): Promise<void> {
    this.#namedRuns.audit(coordinator);
    await this.#files.audit(coordinator);
  }

  /** Whether nothing that clients have asked for is still to come by itself. */
  areAtRest(coordinator: Coordinator): boolean {
    return this.#files.areAtRest(coordinator);
  }

  /** Everything that was turned is turned back, so that the work can end. */
  turnBack(workerIds: readonly string[]): void {
    this.#ask(
      'resume the queue',
      (coordinator) => coordinator.resumeQueue(),
      () => {},
    );
    this.#namedRuns.turnBack();
    this.#files.turnBack();
    for (const id of workerIds) {
      this.#ask(
        `resume ${id}`,
        (coordinator) => coordinator.setWorkerPaused(id, false),
        () => {},
      );
      this.#ask(
        `resize ${id}`,
        (coordinator) => coordinator.setWorkerConcurrency(id, 4),
        () => {},
      );
    }
  }

  /** Pause the queue, or oftener resume it. */
  #turnQueue(): void {
    const isPause = this.#dice.chance(0.4);
    this.#ask(
      `${isPause ? 'pause' : 'resume'} the queue`,
      (coordinator) => (isPause ? coordinator.pauseQueue(null, 'simulated') : coordinator.resumeQueue()),
      () => {},
    );
  }

  #request(): Asked {
    const dice = this.#dice;
    this.#count += 1;
    const name = `job-${this.#count}`;
    return {
      name,
      request: request({
        prompt: name.repeat(dice.int(1, 40)),
        provider: dice.pick([...providerNames, 'alpha', null]),
        priority: dice.pick(['critical', 'high', 'normal', 'normal', 'low']),
        metadata: { name },
        tags: dice.chance(0.3) ? ['tagged'] : [],
        notBefore: dice.chance(0.1) ? this.#wallNow() + dice.int(-1_000, 20_000) : null,
        timeoutSeconds: dice.chance(0.15) ? dice.int(1, 15) : null,
      }),
    };
  }

  #dispatch(): void {
    const { name, request: asked } = this.#request();
    this.#ask(
      `dispatch ${name}`,
      (coordinator) => coordinator.dispatch(asked),
      (told, view) => this.#told(name, told, view?.job.id ?? null),
    );
  }

  #dispatchAll(): void {
    const dice = this.#dice;
    if (this.#batches.length > 0 && dice.chance(0.3)) {
      this.#dispatchBatch(dice.pick(this.#batches));
      return;
    }
    const all = Array.from({ length: dice.int(2, 12) }, () => this.#request());
    if (dice.chance(0.5)) {
      const batch = { key: `batch-${this.#count}`, all, ids: null };
      this.#batches.push(batch);
      this.#dispatchBatch(batch);
      return;
    }
    this.#ask(
      `dispatch ${namesOf(all)}`,
      async (coordinator) => coordinator.dispatchAll(plansOf(all, coordinator)),
      (told, jobs) => {
        for (const [index, { name }] of all.entries()) this.#told(name, told, jobs?.[index]?.id ?? null);
      },
    );
  }

  /** With a key: the first time, or again, whether it was answered or not. */
  #dispatchBatch(batch: KeyedBatch): void {
    const { key, all } = batch;
    this.#ask(
      `dispatch ${namesOf(all)} as ${key}`,
      async (coordinator) => coordinator.dispatchAllOnce(key, plansOf(all, coordinator)),
      (told, answer) => {
        if (told !== 'ok' || answer === null) return;
        const ids = answer.jobs.map(({ id }) => id);
        if (batch.ids !== null && batch.ids.join() !== ids.join())
          this.#checker.breach(`${key} gave ${batch.ids} and then ${ids}`);
        batch.ids = ids;
        for (const [index, { name }] of all.entries()) this.#told(name, 'ok', ids[index] ?? null);
      },
    );
  }

  /** With a key; what was not answered, and at times what was, is sent again under the same one. */
  #dispatchOnce(): void {
    const dice = this.#dice;
    const known = [...this.#keys.keys()];
    const isAgain = known.length > 0 && dice.chance(0.5);
    const key = isAgain ? dice.pick(known) : `key-${this.#count}`;
    const entry = this.#keys.get(key) ?? { ...this.#request(), id: null };
    this.#keys.set(key, entry);
    const isOther = isAgain && entry.request.prompt !== otherPrompt && dice.chance(0.2);
    const { prompt } = entry.request;
    const asked = isOther ? { ...entry.request, prompt: otherPrompt } : entry.request;
    this.#ask(
      `dispatch ${entry.name} as ${key}${isOther ? ', changed' : ''}`,
      (coordinator) => coordinator.dispatchOnce(key, asked),
      (told, answer) => {
        if (told !== 'ok' || answer === null) return;
        const { id } = answer.view.job;
        if (isOther && answer.view.job.request.prompt === prompt) {
          this.#checker.breach(`${key} gave ${id} to another request`);
        } else if (!isOther) {
          if (entry.id !== null && entry.id !== id)
            this.#checker.breach(`${key} gave ${entry.id} and then ${id}`);
          entry.id = id;
          this.#told(entry.name, 'ok', id);
        } else {
          // Nobody had got through with the key before: now it stands for this request.
          entry.request = asked;
          entry.id = id;
          this.#told(entry.name, 'ok', id);
        }
      },
    );
  }

  #told(name: string, told: Told, id: string | null): void {
    this.#history.add('client', `${name} is ${told}${id === null ? '' : ` as ${id}`}`);
    this.#checker.told(name, told, id);
    if (id !== null && !this.#ids.includes(id)) this.#ids.push(id);
  }

  #change(verb: 'cancel' | 'retry'): void {
    if (this.#ids.length === 0) return;
    const id = this.#dice.pick(this.#ids);
    this.#ask(
      `${verb} ${id}`,
      (coordinator) => coordinator[verb](id),
      (told, view, error) => {
        if (told === 'ok' && view !== null) this.#changed(verb, view);
        if (error instanceof CoordinatorError && error.code === 'job_not_found')
          this.#checker.breach(`${id} is not found`);
        if (error instanceof InvalidTransition) this.#refused(verb, id, error);
      },
    );
  }

  #changeMany(): void {
    const action = this.#dice.chance(0.4) ? 'cancel' : 'retry';
    if (this.#dice.chance(0.5)) this.#bulk.ofFilter(action);
    else if (this.#ids.length > 0) this.#bulk.ofIds(action, this.#ids);
  }

  #changed(verb: 'cancel' | 'retry', { job }: JobView): void {
    this.#history.add('client', `${job.id} is ${job.state} by ${verb}`);
    if (verb === 'cancel' && job.state !== 'cancelled')
      this.#checker.breach(`${job.id} was cancelled and is ${job.state}`);
    if (verb === 'cancel' && this.#checker.jobs.get(job.id)?.state !== 'cancelled') {
      this.#checker.breach(
        `${job.id} was answered as cancelled and is ${this.#checker.jobs.get(job.id)?.state}`,
      );
    }
    if (verb === 'retry' && statusOf(job.state) !== 'pending')
      this.#checker.breach(`${job.id} was retried and is ${job.state}`);
  }

  #refused(verb: 'cancel' | 'retry', id: string, error: InvalidTransition): void {
    const status = error.details.jobStatus;
    this.#history.add('client', `${id} is ${status}: no ${verb}`);
    if (verb === 'cancel' && (status === 'pending' || status === 'running')) {
      this.#checker.breach(`${id} is ${status} and could not be cancelled`);
    }
  }

  #read(): void {
    if (this.#ids.length === 0) return;
    const id = this.#dice.pick(this.#ids);
    const least = this.#checker.jobs.get(id)?.version ?? 0;
    this.#ask(
      `read ${id}`,
      (coordinator) => coordinator.job(id),
      (told, view, error) => {
        if (error instanceof CoordinatorError && error.code === 'job_not_found')
          this.#checker.breach(`${id} is not found`);
        if (told !== 'ok' || view === null) return;
        if (view.job.version < least)
          this.#checker.breach(`${id} was at version ${least} and is read at ${view.job.version}`);
        const isPending = statusOf(view.job.state) === 'pending';
        if (isPending !== (view.waiting !== null))
          this.#checker.breach(`${id} is ${view.job.state} and says ${view.waiting?.reason}`);
        if (isTerminal(view.job.state) && view.job.life.finishedAt === null)
          this.#checker.breach(`${id} has ended at no time`);
      },
    );
  }

  #turnWorker(): void {
    const dice = this.#dice;
    const choice = dice.int(0, 9);
    const which = dice.int(0, 5);
    const size = dice.int(0, 4);
    this.#ask(
      'turn a worker',
      async (coordinator) => {
        const views = await coordinator.workers();
        const id = views[which % Math.max(1, views.length)]?.life.id;
        if (id === undefined) return;
        if (choice < 3) await coordinator.setWorkerPaused(id, true);
        else if (choice < 7) await coordinator.setWorkerPaused(id, false);
        else if (choice < 9) await coordinator.setWorkerConcurrency(id, size);
        else await coordinator.forgetWorker(id);
      },
      () => {},
    );
  }
}
