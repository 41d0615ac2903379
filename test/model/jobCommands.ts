import { deepStrictEqual } from 'node:assert/strict';
import { usageFromWire } from '../../src/domain/usage.ts';
import { request } from '../support/coordinator.ts';
import { Command, pick } from './command.ts';
import { endAttempt, isOver, last, type Model, type ModelJob, stumble } from './model.ts';
import { model as pricedModel, type Rig } from './rig.ts';

/** Head starts of the priorities, ms. */
const headStarts = { high: 3_600_000, normal: 0, low: -3_600_000 } as const;

export class Dispatch extends Command {
  readonly priority: keyof typeof headStarts;
  constructor(priority: keyof typeof headStarts) {
    super();
    this.priority = priority;
  }
  check(): boolean {
    return true;
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    const { priority } = this;
    const { job } = await rig.end(
      rig.coordinator.dispatch(request({ provider: 'alpha', model: pricedModel, priority })),
    );
    const place = job.createdAt - headStarts[priority];
    model.jobs.push({
      id: job.id,
      ordinal: job.ordinal,
      place,
      state: 'ready',
      attempts: [],
      reaps: 0,
      failures: 0,
      dueAt: 0,
    });
    return false;
  }
  toString(): string {
    return `dispatch ${this.priority}`;
  }
}

export type Word = 'complete' | 'fail' | 'stumble' | 'release';

/** A worker's last word on a job that it runs. */
export class Say extends Command {
  readonly number: number;
  readonly word: Word;
  readonly tokens: number;
  constructor(number: number, word: Word, tokens: number) {
    super();
    this.number = number;
    this.word = word;
    this.tokens = tokens;
  }
  check(model: Readonly<Model>): boolean {
    return this.#spoken(model).length > 0;
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    const job = pick(this.#spoken(model), this.number);
    const attempt = job === undefined ? undefined : last(job);
    if (job === undefined || attempt === undefined) throw new Error('no job runs');
    const usage = usageFromWire({ input_tokens: this.tokens });
    const failure = { message: 'made by the test', status: null, code: null, retryAfterMs: null };
    const { connection } = rig.hand(attempt.worker);
    const ref = { jobId: job.id, lease: attempt.lease };
    switch (this.word) {
      case 'complete':
        await rig.end(
          connection.conclude(ref, {
            type: 'complete',
            output: 'done',
            finishReason: 'stop',
            model: null,
            usage,
            latencyMs: 1,
            firstTokenMs: null,
          }),
        );
        endAttempt(job, 'completed', this.tokens);
        job.state = 'completed';
        break;
      case 'fail':
        await rig.end(
          connection.conclude(ref, {
            type: 'fail',
            failure: { ...failure, class: 'content_filtered' },
            usage,
          }),
        );
        endAttempt(job, 'failed', this.tokens);
        job.failures += 1;
        job.state = 'failed';
        break;
      case 'stumble': {
        // Turned away, or broken off in the middle of an answer.
        const status = this.tokens % 2 === 0 ? 503 : null;
        await rig.end(
          connection.conclude(ref, {
            type: 'fail',
            failure: { ...failure, class: 'server_error', status },
            usage: null,
          }),
        );
        stumble(job, status !== null);
        break;
      }
      case 'release':
        await rig.end(connection.conclude(ref, { type: 'release' }));
        endAttempt(job, 'released', null, true);
        job.state = 'ready';
        break;
    }
    return false;
  }
  #spoken(model: Readonly<Model>): ModelJob[] {
    const isConnected = (name = '') => model.workers.some((one) => one.name === name && one.isConnected);
    return model.jobs.filter((job) => job.state === 'active' && isConnected(last(job)?.worker));
  }
  toString(): string {
    return `${this.word} job ${this.number} with ${this.tokens} tokens`;
  }
}

/** A worker's word on a lease that is over: what the attempt cost is taken once, its result only when nobody has overtaken it. */
export class SayLate extends Command {
  readonly number: number;
  readonly tokens: number;
  constructor(number: number, tokens: number) {
    super();
    this.number = number;
    this.tokens = tokens;
  }
  check(model: Readonly<Model>): boolean {
    return this.#leases(model).length > 0;
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    const late = pick(this.#leases(model), this.number);
    if (late === undefined) throw new Error('nothing is late');
    const { job, attempt } = late;
    const usage = usageFromWire({ input_tokens: this.tokens });
    const hand = rig.hand(attempt.worker);
    await rig.end(
      hand.connection.conclude(
        { jobId: job.id, lease: attempt.lease },
        {
          type: 'complete',
          output: 'late',
          finishReason: 'stop',
          model: null,
          usage,
          latencyMs: 1,
          firstTokenMs: null,
        },
      ),
    );
    const isPending = job.state === 'ready' || job.state === 'delayed';
    const isWelcome =
      isPending && attempt === last(job) && attempt.outcome === 'lost' && attempt.tokens === null;
    const isRepeated = attempt.outcome === 'completed';
    if (attempt.tokens === null) {
      attempt.tokens = this.tokens;
      attempt.isUnknown = false;
    }
    if (isWelcome) {
      attempt.outcome = 'completed';
      job.state = 'completed';
    }
    const worker = model.worker(attempt.worker);
    worker.ending = worker.ending.filter((one) => one.job !== job || one.lease !== attempt.lease);
    const { ack } = hand;
    deepStrictEqual(ack?.type === 'ack' && ack.accepted, isWelcome || isRepeated);
    return false;
  }
  #leases(model: Readonly<Model>) {
    return model.jobs.flatMap((job) =>
      job.attempts
        .filter(({ outcome, worker }) => outcome !== null && model.worker(worker).isConnected)
        .map((attempt) => ({ job, attempt })),
    );
  }
  toString(): string {
    return `late result ${this.number} with ${this.tokens} tokens`;
  }
}

export class Cancel extends Command {
  readonly number: number;
  constructor(number: number) {
    super();
    this.number = number;
  }
  check(model: Readonly<Model>): boolean {
    return model.jobs.length > 0;
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    const job = pick(model.jobs, this.number);
    if (job === undefined) throw new Error('no job');
    const cancel = rig.end(rig.coordinator.cancel(job.id)).then(
      () => true,
      () => false,
    );
    deepStrictEqual(await cancel, !isOver(job));
    if (isOver(job)) return false;
    const attempt = last(job);
    if (attempt !== undefined && attempt.outcome === null) {
      const worker = model.worker(attempt.worker);
      if (worker.isConnected) worker.ending.push({ job, lease: attempt.lease });
      endAttempt(job, 'cancelled', null);
    }
    job.state = 'cancelled';
    return false;
  }
  toString(): string {
    return `cancel job ${this.number}`;
  }
}

export class Retry extends Command {
  readonly number: number;
  constructor(number: number) {
    super();
    this.number = number;
  }
  check(model: Readonly<Model>): boolean {
    return model.jobs.length > 0;
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    const job = pick(model.jobs, this.number);
    if (job === undefined) throw new Error('no job');
    const isAllowed = job.state === 'failed' || job.state === 'stuck';
    const retry = rig.end(rig.coordinator.retry(job.id)).then(
      () => true,
      () => false,
    );
    deepStrictEqual(await retry, isAllowed);
    if (!isAllowed) return false;
    if (job.state === 'stuck') endAttempt(job, 'lost', null);
    job.state = 'ready';
    job.reaps = 0;
    job.failures = 0;
    return false;
  }
  toString(): string {
    return `retry job ${this.number}`;
  }
}

export class Pass extends Command {
  check(model: Readonly<Model>): boolean {
    return model.jobs.some(({ state }) => state === 'delayed');
  }
  async apply(_model: Model, rig: Rig): Promise<boolean> {
    // Longer than any back-off.
    await rig.pass(61_000);
    return false;
  }
  toString(): string {
    return 'pass a minute';
  }
}

export class Restart extends Command {
  check(): boolean {
    return true;
  }
  async apply(model: Model, rig: Rig): Promise<boolean> {
    await rig.restart();
    for (const worker of model.workers) {
      worker.isConnected = false;
      worker.ending = [];
    }
    return false;
  }
  toString(): string {
    return 'restart';
  }
}
