import { getInitialSnapshot, type SnapshotFrom } from 'xstate';
import type { JobEvent } from '../../machines/events.ts';
import { jobMachine, jobRunner } from '../../machines/jobMachine.ts';
import { type ErrorClass, type Failure, type FailureRules, faultOf } from '../../src/domain/failure.ts';
import type { JobInput, JobLife, JobResult, Target } from '../../src/domain/job.ts';
import type { Cost } from '../../src/domain/money.ts';
import type { JobState } from '../../src/domain/states.ts';
import type { Usage } from '../../src/domain/usage.ts';
import { pathOf } from './stateTable.ts';

export type JobSnapshot = SnapshotFrom<typeof jobMachine>;
export type Event<T extends JobEvent['type']> = Extract<JobEvent, { type: T }>;
/** An event made for the job it meets: the lease is that job's. */
export type Make = (life: JobLife) => JobEvent;

export function targetOf(provider: string, model: string | null = null): Target {
  return { provider, model, worker: null, workerTag: null };
}

export function usageOf(inputTokens: number): Usage {
  return {
    inputTokens,
    outputTokens: 5,
    cachedInputTokens: 0,
    reasoningTokens: 0,
    totalTokens: inputTokens + 5,
  };
}

export const dollar: Cost = { nanoDollars: 1_000_000_000, status: 'known' };

export const result: JobResult = {
  output: 'the answer',
  finishReason: 'stop',
  provider: 'a',
  model: null,
  workerId: 'w1',
  usage: usageOf(10),
  latencyMs: 900,
  firstTokenMs: 100,
};

export const rules: FailureRules = { maxAttempts: 3, maxRateLimitRetries: 2, fallbackOnTimeout: true };

export function failure(errorClass: ErrorClass, message = 'it broke'): Failure {
  return { class: errorClass, code: errorClass, message, status: errorClass === 'network' ? null : 500 };
}

export function inputOf(input: Partial<JobInput> = {}): JobInput {
  const defaults = {
    target: targetOf('a'),
    strategy: 'fallback' as const,
    chain: [],
    route: [],
    priority: 'normal',
    createdAt: 1_000,
    notBefore: null,
  };
  return { ...defaults, ...input };
}

export function newJob(input: Partial<JobInput> = {}): JobSnapshot {
  return getInitialSnapshot(jobMachine, inputOf(input));
}

/** Times rise with every event of a job, so that what is remembered of each can be told apart. */
function now(life: JobLife): number {
  return life.updatedAt + 100;
}

/** Events as the coordinator makes them, for the lease that the job has at that moment. */
export const make = {
  due: (life: JobLife): JobEvent => ({ type: 'job.due', at: now(life) }),
  assigned: (life: JobLife): JobEvent => {
    const { provider, model } = life.target;
    return { type: 'job.assigned', at: now(life), workerId: 'w1', provider, model, why: 'first free worker' };
  },
  cancelled: (life: JobLife): JobEvent => ({ type: 'job.cancelled', at: now(life) }),
  workerLost: (life: JobLife): JobEvent => ({ type: 'job.workerLost', at: now(life), lease: life.lease }),
  workerReturned: (life: JobLife): JobEvent => ({
    type: 'job.workerReturned',
    at: now(life),
    lease: life.lease,
  }),
  released: (life: JobLife): JobEvent => ({ type: 'job.released', at: now(life), lease: life.lease }),
  keyRevoked: (life: JobLife): JobEvent => ({ type: 'job.keyRevoked', at: now(life), lease: life.lease }),
  completed:
    (fields: Partial<Event<'job.completed'>> = {}): Make =>
    (life) => ({
      type: 'job.completed',
      at: now(life),
      lease: life.lease,
      result,
      usage: result.usage,
      cost: dollar,
      ...fields,
    }),
  failed:
    (errorClass: ErrorClass, fields: Partial<Event<'job.attemptFailed'>> = {}): Make =>
    (life) => ({
      type: 'job.attemptFailed',
      at: now(life),
      lease: life.lease,
      error: failure(errorClass),
      fault: faultOf(failure(errorClass), false),
      others: { able: false, untried: false },
      rules,
      retryAt: now(life) + 50,
      next: null,
      usage: null,
      cost: { nanoDollars: null, status: 'none' },
      ...fields,
    }),
  timedOut:
    (fields: Partial<Event<'job.timedOut'>> = {}): Make =>
    (life) => ({ type: 'job.timedOut', at: now(life), lease: life.lease, timeoutMs: 600_000, ...fields }),
  reaped:
    (outcome: 'reaped' | 'lost' = 'reaped', fields: Partial<Event<'job.reaped'>> = {}): Make =>
    (life) => ({ type: 'job.reaped', at: now(life), lease: life.lease, outcome, maxReaps: 3, ...fields }),
  retried:
    (fields: Partial<Event<'job.retried'>> = {}): Make =>
    (life) => ({
      type: 'job.retried',
      at: now(life),
      strategy: 'direct',
      target: targetOf('a'),
      chain: [],
      ...fields,
    }),
  usageReported:
    (fields: Partial<Event<'job.usageReported'>> = {}): Make =>
    (life) => ({
      type: 'job.usageReported',
      at: now(life),
      lease: life.lease,
      usage: usageOf(7),
      cost: dollar,
      ...fields,
    }),
};

/** One event, as the coordinator sends it. @returns what has happened, null when it is refused, and the job after it. */
export function stepped(job: JobSnapshot, event: JobEvent) {
  const actor = jobRunner.restore({ state: pathOf(job) as JobState, context: job.context });
  return { taken: jobRunner.step(actor, event), job: actor.getSnapshot() as JobSnapshot };
}

/** The job after these events. Each of them must be one that the job accepts. */
export function after(job: JobSnapshot, ...events: Make[]): JobSnapshot {
  return events.reduce((snapshot, maker) => {
    const event = maker(snapshot.context);
    const { taken, job: next } = stepped(snapshot, event);
    if (taken === null) throw new Error(`${JSON.stringify(snapshot.value)} refuses ${event.type}`);
    return next;
  }, job);
}

/** A job in every state. Lease 1 failed in all but the first; where a second attempt was needed it has lease 2. */
export function jobsInEveryState(): Record<string, JobSnapshot> {
  const delayed = after(newJob(), make.assigned, make.failed('server_error'));
  const ready = after(delayed, make.due);
  const active = after(ready, make.assigned);
  return {
    'pending.ready': ready,
    'pending.delayed': delayed,
    'running.active': active,
    'running.stuck': after(active, make.workerLost),
    completed: after(active, make.completed()),
    failed: after(active, make.failed('invalid_request')),
    cancelled: after(active, make.cancelled),
  };
}
