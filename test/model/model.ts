import type { AttemptOutcome } from '../../src/domain/job.ts';
import { maxAttempts, maxReaps } from './rig.ts';

/** What the coordinator is held against: the queue, the leases and the money by plain lists, with nothing clever. */

export interface ModelAttempt {
  lease: number;
  worker: string;
  outcome: AttemptOutcome | null;
  /** Input tokens that its worker has told; null while it has not. */
  tokens: number | null;
  /** Whether it ended without anybody knowing what it cost. */
  isUnknown: boolean;
}

export interface ModelJob {
  id: string;
  /** Order of creation. */
  ordinal: number;
  /** `enqueuedAt` less the head start of its priority: the smallest goes first. */
  place: number;
  state: 'ready' | 'delayed' | 'active' | 'stuck' | 'completed' | 'failed' | 'cancelled';
  attempts: ModelAttempt[];
  reaps: number;
  /** Failures that count against `max_attempts`. */
  failures: number;
  /** Epoch ms at which its back-off ends; the coordinator draws it. */
  dueAt: number;
}

export interface ModelWorker {
  name: string;
  /** What it says of itself in every hello: the same, so that a resize outlives it. */
  declared: number;
  slots: number;
  isPaused: boolean;
  isConnected: boolean;
  /** Leases whose jobs have ended without its word: they take a slot until it comes, or the connection goes. */
  ending: { job: ModelJob; lease: number }[];
}

export class Model {
  readonly jobs: ModelJob[] = [];
  readonly workers: ModelWorker[] = [];

  /** Jobs that run on a worker, whether it is connected or not. */
  runningOn(name: string): ModelJob[] {
    return this.jobs.filter(
      (job) => (job.state === 'active' || job.state === 'stuck') && last(job)?.worker === name,
    );
  }

  free(worker: ModelWorker): number {
    if (!worker.isConnected || worker.isPaused) return 0;
    return Math.max(0, worker.slots - this.runningOn(worker.name).length - worker.ending.length);
  }

  /** The jobs that must have been handed out by now, in order. */
  due(): ModelJob[] {
    const free = this.workers.reduce((sum, worker) => sum + this.free(worker), 0);
    const ready = this.jobs.filter(({ state }) => state === 'ready');
    return ready.sort((a, b) => a.place - b.place || a.ordinal - b.ordinal).slice(0, free);
  }

  /** What the ledger must come to. */
  ledger(): { attempts: number; jobs: number; inputTokens: number; unknown: number } {
    const attempts = this.jobs.flatMap((job) => job.attempts).filter(({ outcome }) => outcome !== null);
    return {
      attempts: attempts.length,
      jobs: this.jobs.filter((job) => isOver(job) && job.attempts.length > 0).length,
      inputTokens: attempts.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0),
      unknown: attempts.filter(({ isUnknown }) => isUnknown).length,
    };
  }

  worker(name: string): ModelWorker {
    const worker = this.workers.find((one) => one.name === name);
    if (worker === undefined) throw new Error(`no worker ${name}`);
    return worker;
  }
}

export function last({ attempts }: ModelJob): ModelAttempt | undefined {
  return attempts[attempts.length - 1];
}

export function isOver({ state }: ModelJob): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

/** The running attempt of a job ends. @param tokens what its worker tells of it; null for nothing. */
export function endAttempt(
  job: ModelJob,
  outcome: AttemptOutcome,
  tokens: number | null,
  isFree = false,
): void {
  const attempt = last(job);
  if (attempt === undefined) throw new Error(`job ${job.id} does not run`);
  attempt.outcome = outcome;
  attempt.tokens = tokens;
  attempt.isUnknown = tokens === null && !isFree;
}

/** Its worker does not have it any more. */
export function lose(job: ModelJob): void {
  endAttempt(job, 'lost', null);
  job.reaps += 1;
  job.state = job.reaps > maxReaps ? 'failed' : 'ready';
}

/** A failure that may pass. @param isFree whether the provider turned the job away, and charged nothing. */
export function stumble(job: ModelJob, isFree: boolean): void {
  endAttempt(job, 'failed', null, isFree);
  job.failures += 1;
  job.state = job.failures < maxAttempts ? 'delayed' : 'failed';
}
