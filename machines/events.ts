import type { Failure, FailureRules, Fault, Others } from '../src/domain/failure.ts';
import type { JobResult, RouteStep, StrategyName, Target } from '../src/domain/job.ts';
import type { Cost } from '../src/domain/money.ts';
import type { Usage } from '../src/domain/usage.ts';
import type { WorkerHello, WorkerOwner } from '../src/domain/worker.ts';

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
      /** What the provider ran; null when nobody has said it. */
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
  /** An attempt failed. `until`, epoch ms, is used when that puts the worker aside; it takes `enough` in a row. */
  | ({ type: 'health.failed'; failure: Failure; enough: number; until: number } & At)
  /** The time for which it was put aside has passed. */
  | ({ type: 'health.due' } & At)
  /** The one job of a trial was sent, or has come back without a verdict on the worker. */
  | ({ type: 'health.trialSent' } & At)
  | ({ type: 'health.trialReturned' } & At)
  /** An attempt got an answer. */
  | ({ type: 'health.succeeded' } & At);

export type ProviderEvent =
  /** It answered 429. `until` is epoch ms. */
  | ({ type: 'provider.limited'; until: number } & At)
  /** An attempt ended with a failure that counts for the breaker. `openUntil` is used when that opens it. */
  | ({
      type: 'provider.failed';
      /** Of all attempts in the window, this one included. */
      failureRatio: number;
      attempts: number;
      openRatio: number;
      openMinimum: number;
      openUntil: number;
      /** Workers of the provider that are well: while there is one, the provider is not stopped. */
      workersLeft: number;
    } & At)
  | ({ type: 'provider.succeeded' } & At)
  /** The time until which it was limited or open has passed. */
  | ({ type: 'provider.due' } & At)
  /** The one job of a probe was sent, or has come back without a verdict on the provider. */
  | ({ type: 'provider.probeSent' } & At)
  | ({ type: 'provider.probeReturned' } & At)
  | ({ type: 'provider.reset' } & At);

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
  /** A pass has looked at every lane that has ready jobs. */
  | { type: 'pass.ended' }
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
