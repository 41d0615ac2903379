import { deepStrictEqual } from 'node:assert/strict';
import type fc from 'fast-check';
import { lastAttempt } from '../../src/domain/job.ts';
import { last, type Model, type ModelJob } from './model.ts';
import type { Rig } from './rig.ts';

/** After so long what a command has set off is durable, ms. */
const settledMs = 50;

/** A command on model and coordinator alike; after each the coordinator must be where the model is. */
export abstract class Command implements fc.AsyncCommand<Model, Rig> {
  abstract check(model: Readonly<Model>): boolean;
  /** @returns whether several slots or jobs became free one after the other: then only the number of jobs that begin is sure. */
  abstract apply(model: Model, rig: Rig): Promise<boolean>;
  abstract toString(): string;

  async run(model: Model, rig: Rig): Promise<void> {
    const isLoose = await this.apply(model, rig);
    await follow(model, rig, isLoose);
  }
}

const stateOf = {
  'pending.ready': 'ready',
  'pending.delayed': 'delayed',
  'running.active': 'active',
  'running.stuck': 'stuck',
} as const;

/** Let the model hand out what must have been handed out, and compare everything. */
async function follow(model: Model, rig: Rig, isLoose: boolean): Promise<void> {
  await rig.pass(settledMs);
  const wereDue = await comeDue(model, rig);
  const due = model.due();
  const begun: ModelJob[] = [];
  for (const job of model.jobs) {
    const found = await rig.store.job(job.id);
    if (found === undefined) throw new Error(`job ${job.id} is gone`);
    const attempt = lastAttempt(found.life);
    if (job.state === 'ready' && found.state === 'running.active' && attempt !== undefined) {
      const worker = model.worker(nameOf(rig, attempt.workerId));
      deepStrictEqual(
        { isFree: model.free(worker) > 0, lease: attempt.lease },
        { isFree: true, lease: (last(job)?.lease ?? 0) + 1 },
      );
      job.state = 'active';
      job.attempts.push({
        lease: attempt.lease,
        worker: worker.name,
        outcome: null,
        tokens: null,
        isUnknown: false,
      });
      begun.push(job);
    }
    const state = found.state in stateOf ? stateOf[found.state as keyof typeof stateOf] : found.state;
    deepStrictEqual({ id: job.id, state }, { id: job.id, state: job.state });
    deepStrictEqual(
      found.life.attempts.map(({ lease, outcome, usage }) => ({
        lease,
        outcome,
        tokens: usage?.inputTokens ?? null,
      })),
      job.attempts.map(({ lease, outcome, tokens }) => ({ lease, outcome, tokens })),
    );
    deepStrictEqual(found.life.result !== null, job.state === 'completed');
  }
  if (isLoose || wereDue) deepStrictEqual(begun.length, due.length);
  else deepStrictEqual(begun.map(({ id }) => id).sort(), due.map(({ id }) => id).sort());
  const { attempts, jobs, inputTokens, unknown, nanoDollars } = await rig.ledger();
  deepStrictEqual(
    { attempts, jobs, inputTokens, unknown, nanoDollars },
    { ...model.ledger(), nanoDollars: model.ledger().inputTokens * 1_000_000 },
  );
  for (const { life, runningJobs } of await rig.coordinator.workers()) {
    const worker = model.worker(life.name);
    deepStrictEqual(runningJobs.length, model.runningOn(worker.name).length + worker.ending.length);
  }
}

/** Back-offs end as time passes. @returns whether any did. */
async function comeDue(model: Model, rig: Rig): Promise<boolean> {
  let wereDue = false;
  for (const job of model.jobs) {
    if (job.state !== 'delayed') continue;
    const found = await rig.store.job(job.id);
    job.dueAt = found?.life.delayedUntil ?? job.dueAt;
    // Between its time and its commit it may be the one or the other.
    const isDue =
      job.dueAt <= rig.now - settledMs || (job.dueAt <= rig.now && found?.state !== 'pending.delayed');
    if (!isDue) continue;
    job.state = 'ready';
    wereDue = true;
  }
  return wereDue;
}

function nameOf(rig: Rig, workerId: string): string {
  for (const [name, hand] of rig.hands) if (hand?.id === workerId) return name;
  throw new Error(`worker ${workerId} is not connected`);
}

/** The job with this number among those that fit, if there is one. */
export function pick<T>(list: readonly T[], number: number): T | undefined {
  return list[number % Math.max(1, list.length)];
}
