import { brief, type Failure, type Fault } from '../src/domain/failure.ts';
import type { LeaseRef } from '../src/domain/job.ts';
import type { HealthEvent } from './events.ts';

/*
 * What is remembered of one fault of one worker, and what each event makes of it: the memory of `healthMachine`, which
 * decides what may happen. Pure; a life that was given is never changed.
 */

/** The context of the health machine. Plain JSON. */
export interface HealthLife {
  workerId: string;
  provider: string;
  /** null: jobs that name none, or all of the provider when the fault is the provider's. */
  model: string | null;
  fault: Fault;
  /** The last failure that counted; null before the first. */
  failure: Failure | null;
  /** Epoch ms of that failure. */
  at: number;
  /** Epoch ms until which the worker is passed over; null when it is not known or not so. */
  until: number | null;
  /** Monotonic ms since which it is passed over: failures of jobs that were sent before say nothing new. */
  since: number;
  /** The job of the trial under way. */
  trial: LeaseRef | null;
  /** Failures without a success in between, but for those that came while it was passed over. */
  inRow: number;
}

/** What a fault begins from. */
export type HealthInput = Pick<HealthLife, 'workerId' | 'provider' | 'model' | 'fault' | 'at'>;

/** The event of a type. */
export type Of<T extends HealthEvent['type']> = Extract<HealthEvent, { type: T }>;

/** For how long a worker is passed over, and how many failures in a row it takes. */
interface Patience {
  /** The first time; twice as long after each that follows. */
  firstMs: number;
  mostMs: number;
  enough: number;
  /** Whether the fault is that of one model; else of all at the provider. */
  isOfModel: boolean;
}

/** Jobs wait for a server that is down, so it is asked again soon; a key is repaired by people. */
const patience: Record<Fault, Patience> = {
  unreachable: { firstMs: 1_000, mostMs: 60_000, enough: 1, isOfModel: false },
  loading: { firstMs: 1_000, mostMs: 60_000, enough: 1, isOfModel: true },
  refused: { firstMs: 60_000, mostMs: 3_600_000, enough: 1, isOfModel: false },
  missing: { firstMs: 10_000, mostMs: 600_000, enough: 1, isOfModel: true },
  failing: { firstMs: 1_000, mostMs: 60_000, enough: 3, isOfModel: true },
};
/** A refused key is tried at a time that people can wait for; the others spread, so that workers do not ask as one. */
const jitterShare = 0.25;
/** The time grows twofold with each failure in a row, this many times. */
const doublingsMax = 20;

/** Whether a fault is that of one model of the provider; else of all of them. */
export function isOfModel(fault: Fault): boolean {
  return patience[fault].isOfModel;
}

/** What is remembered of a fault before its first failure. */
export function beginLife(input: HealthInput): HealthLife {
  return { ...input, failure: null, until: null, since: 0, trial: null, inRow: 0 };
}

/** So many failures in a row are no accident. */
export function isEnough({ inRow, fault }: HealthLife): boolean {
  return inRow + 1 >= patience[fault].enough;
}

/** Whether the job that failed was sent after the worker was set aside. */
export function isNews({ since }: HealthLife, { began }: Of<'health.failed'>): boolean {
  return began >= since;
}

/** Whether it is the job of the trial. */
export function isTrial({ trial }: HealthLife, { jobId, lease }: LeaseRef): boolean {
  return trial !== null && trial.jobId === jobId && trial.lease === lease;
}

/** A failure that may be an accident. */
export function count(life: HealthLife, { at, failure }: Of<'health.failed'>): HealthLife {
  return { ...life, failure: brief(failure), at, inRow: life.inRow + 1 };
}

/** The worker is passed over: each time in a row for twice as long. */
export function setAside(life: HealthLife, failed: Of<'health.failed'>): HealthLife {
  const { at, monotonic, jitter } = failed;
  const { firstMs, mostMs, enough } = patience[life.fault];
  const forMs = Math.min(firstMs * 2 ** Math.min(life.inRow + 1 - enough, doublingsMax), mostMs);
  const share = life.fault === 'refused' ? 0 : jitterShare * jitter;
  return {
    ...count(life, failed),
    until: at + Math.ceil(forMs * (1 - share)),
    since: monotonic,
    trial: null,
  };
}

/** Its time has passed: the next job is a trial. */
export function endTime(life: HealthLife): HealthLife {
  return { ...life, until: null };
}

/** The job of the trial was sent. */
export function sendTrial(life: HealthLife, { jobId, lease }: Of<'health.trialSent'>): HealthLife {
  return { ...life, trial: { jobId, lease } };
}

/** It has ended without a verdict on the worker. */
export function returnTrial(life: HealthLife): HealthLife {
  return { ...life, trial: null };
}

/** Nothing is held against the worker any more. */
export function forget(life: HealthLife): HealthLife {
  return { ...life, failure: null, until: null, trial: null, inRow: 0 };
}
