import type { BatchResult, LineFault } from '../src/domain/batch.ts';
import type { Failure, FailureRules, Fault, Others } from '../src/domain/failure.ts';
import type { JobResult, LeaseRef, RouteStep, StrategyName, Target } from '../src/domain/job.ts';
import type { Cost, NanoDollars } from '../src/domain/money.ts';
import type { ProviderRules } from '../src/domain/provider.ts';
import type { RunLimits, RunPause } from '../src/domain/run.ts';
import type { Usage } from '../src/domain/usage.ts';
import type { WorkerHello, WorkerOwner } from '../src/domain/worker.ts';
import type { AttemptEnd } from './attemptWindow.ts';

/** Every event of every machine. Time arrives in the event (`at`, epoch ms): machines ask no clock. */

interface At {
  at: number;
}

interface OfLease extends At {
  lease: number;
}

/** What an attempt used and what that costs. */
interface Spent {
  usage: Usage | null;
  cost: Cost;
}

/** The end of an attempt that its worker did not report: the coordinator says what it cost; nothing if left out. */
interface Unreported {
  cost?: Cost;
}

export type JobEvent =
  /** `not_before` or a back-off has passed. */
  | ({ type: 'job.due' } & At)
  /** A worker gets the job; the lease is the previous one plus one. */
  | ({
      type: 'job.assigned';
      workerId: string;
      provider: string;
      model: string | null;
      /** Why this one, for `route`. */
      why: string;
      /** Candidates that were passed over, with the reason. */
      skipped?: RouteStep[];
      /** What the attempt may cost, for the budget of the job's run. */
      estimate?: NanoDollars;
    } & At)
  /** A client ends the job. */
  | ({ type: 'job.cancelled' } & At & Unreported)
  | ({ type: 'job.completed'; result: JobResult } & OfLease & Spent)
  | ({
      type: 'job.attemptFailed';
      error: Failure;
      /** The fault of the worker; null when the failure is the job's own, or a limit. */
      fault: Fault | null;
      /** The other workers that fit the job at this provider. */
      others: Others;
      /** What the provider ran; null when it was not reported. */
      model?: string | null;
      /** What the provider asked for, for the provider's own limit; the job's machine does not read it. */
      retryAfterMs?: number | null;
      rules: FailureRules;
      /** When a transient failure may be tried again, epoch ms. */
      retryAt: number;
      /** The next member of the chain, or null. */
      next: Target | null;
    } & OfLease &
      Spent)
  /** The connection of the job's worker is gone. */
  | ({ type: 'job.workerLost' } & OfLease)
  /** The worker is back and still runs the job. */
  | ({ type: 'job.workerReturned' } & OfLease)
  /** The key of the job's worker was revoked. */
  | ({ type: 'job.keyRevoked' } & OfLease & Unreported)
  /** The attempt ran for longer than the job's timeout. */
  | ({ type: 'job.timedOut'; timeoutMs: number } & OfLease & Unreported)
  /** No heartbeat for too long (`reaped`), or the worker reports that it does not run it (`lost`). */
  | ({ type: 'job.reaped'; outcome: 'reaped' | 'lost'; maxReaps: number } & OfLease & Unreported)
  /** A draining worker gives the job back unfinished. */
  | ({ type: 'job.released' } & OfLease & Unreported)
  /** POST retry. `target` and `chain` are the routing's fresh answer. */
  | ({ type: 'job.retried'; strategy: StrategyName; target: Target; chain: Target[] } & At & Unreported)
  /** What an attempt that had already ended was still charged for. */
  | ({ type: 'job.usageReported'; model?: string | null } & OfLease & Spent);

/** Events of a lease carry nothing: the table of its machine takes their types. */
export type LeaseEvent =
  /** The assignment is durable. */
  | { type: 'lease.assigned' }
  /** The assignment could not be made durable. */
  | { type: 'lease.abandoned' }
  /** The attempt has ended, or its worker has said its last word. */
  | { type: 'lease.concluded' }
  /** The job has ended without the word of its worker, which was asked to stop. */
  | { type: 'lease.aborted' }
  /** The connection of the worker is gone. */
  | { type: 'lease.workerLost' }
  /** The worker's word did not come in time. */
  | { type: 'lease.expired' };

export type WorkerEvent =
  /** `owner` is the key it came with. */
  | ({ type: 'worker.connected'; hello: WorkerHello; owner?: WorkerOwner | undefined } & At)
  | ({ type: 'worker.disconnected' } & At)
  /** Any frame came in. */
  | ({ type: 'worker.heard' } & At)
  /** One heartbeat is missing. */
  | ({ type: 'worker.late' } & At)
  | ({ type: 'worker.paused' } & At)
  | ({ type: 'worker.resumed' } & At)
  /** The worker itself wants no more work. */
  | ({ type: 'worker.draining' } & At)
  | ({ type: 'worker.resized'; concurrency: number } & At)
  /** Its key allows so many of the slots that are wanted. */
  | ({ type: 'worker.limited'; concurrency: number } & At)
  /** The models that the worker's local server has now. */
  | ({ type: 'worker.modelsChanged'; models: Record<string, string[]> } & At);

export type HealthEvent =
  /** An attempt failed that began then, monotonic ms. `jitter`: by chance, 0 to 1, so that workers do not ask as one. */
  | ({ type: 'health.failed'; failure: Failure; began: number; monotonic: number; jitter: number } & At)
  /** The time for which it was put aside has passed. */
  | ({ type: 'health.due' } & At)
  /** The one job of a trial was sent. */
  | ({ type: 'health.trialSent' } & LeaseRef & At)
  /** An attempt has ended, maybe without a verdict on the worker. */
  | ({ type: 'health.trialReturned' } & LeaseRef & At)
  /** An attempt got an answer. */
  | ({ type: 'health.succeeded' } & At);

/** The end of an attempt at a provider. */
interface OfAttempt extends At {
  /** When it ended, monotonic ms: a wall clock that is set must not empty the breaker's window. */
  monotonic: number;
  workerId: string;
  rules: ProviderRules;
}

export type ProviderEvent =
  /** It answered 429. */
  | ({
      type: 'provider.limited';
      /** What it asked for, ms; null when it asked for nothing. */
      askedMs: number | null;
      /** By chance, 0 to 1: spreads the returns of those that wait. */
      jitter: number;
      /** Requests, this one included. */
      underWay: number;
      rules: ProviderRules;
    } & At)
  /** An attempt ended with a failure that counts for the breaker. */
  | ({
      type: 'provider.failed';
      failure: Failure;
      /** Ids of its workers that are well enough for such a job; they matter only where the breaker could open. */
      ableWorkers: readonly string[];
    } & OfAttempt)
  /** An attempt ended with an answer, or with a failure that is the job's own. `underWay`: requests, this one included. */
  | ({
      type: 'provider.succeeded';
      underWay: number;
      /** Ends of attempts before this one that nothing but the window needs to know of, the oldest first. */
      earlier?: readonly AttemptEnd[];
    } & OfAttempt)
  /** The first output of an attempt came, which began then, monotonic ms. */
  | ({ type: 'provider.streamed'; began: number; underWay: number; rules: ProviderRules } & At)
  /** The time until which it was limited or open has passed. */
  | ({ type: 'provider.due'; monotonic: number } & At)
  /** A worker of its has connected, or is well again. */
  | ({ type: 'provider.workerCame'; monotonic: number } & At)
  /** The one job of a probe was sent. */
  | ({ type: 'provider.probeSent' } & At)
  /** An attempt has ended, maybe without the provider's word; it began then, monotonic ms. */
  | ({ type: 'provider.probeReturned'; began: number } & At)
  | ({ type: 'provider.reset' } & At);

export type RunEvent =
  /** Its last job has ended. */
  | ({ type: 'run.ended' } & At)
  /** It has jobs again that have not ended: new ones, or a retry. */
  | { type: 'run.refilled' }
  /** Somebody pauses it, or one of its limits is reached. */
  | ({ type: 'run.paused' } & RunPause)
  /** Somebody resumes it, or changes its limits. */
  | { type: 'run.resumed'; limits: RunLimits }
  | ({ type: 'run.cancelled' } & At);

export type BatchEvent =
  /** Every line of its file is right. */
  | ({ type: 'batch.validated'; lines: number } & At)
  /** Its file cannot be used. */
  | ({ type: 'batch.refused'; faults: LineFault[] } & At)
  /** Every line has been made a job, as far as it can be, and no job is left that has not ended. */
  | ({ type: 'batch.ended' } & At)
  /** A job of it was retried before its files were written. */
  | { type: 'batch.reopened' }
  /** Its window is over. */
  | ({ type: 'batch.expired' } & At)
  | ({ type: 'batch.cancelled' } & At)
  /** Its files are written; they become known together with this. `faults`: why there are none. */
  | ({ type: 'batch.written'; result: BatchResult; faults?: LineFault[] } & At);

export type SupervisorEvent =
  | { type: 'supervisor.open' }
  /** `paused`: whether the queue was paused when the coordinator stopped. */
  | { type: 'supervisor.recovered'; paused: boolean }
  | { type: 'supervisor.pause' }
  | { type: 'supervisor.resume' }
  | { type: 'supervisor.drain' }
  | { type: 'supervisor.stop' }
  /** Something has changed that may let a job start: a job, a worker, a provider, a rule. */
  | { type: 'work.arrived' }
  /** A worker may take one more job. */
  | { type: 'slot.freed' }
  /** A pass has looked at every lane that has ready jobs. `hasMore`: work has arrived or a slot was freed since it began. */
  | { type: 'pass.ended'; hasMore: boolean }
  /** The store refused what a pass has decided; nothing of it has happened. */
  | { type: 'pass.failed' }
  /** The pause after a failed pass is over. */
  | { type: 'retry.due' }
  /** The earliest deadline has come; its timer ran `lateMs` later than it was set to. */
  | { type: 'deadline.reached'; lateMs: number }
  /** Every deadline that was due has run. */
  | { type: 'sweep.ended' }
  /** The process stood still for `lateMs`, and that was noticed before the timer ran. */
  | { type: 'stall.noticed'; lateMs: number };
