/* What a commit can change. Every change is plain JSON, complete in itself: a log stores it and applies it without looking
   anything up. */

import type { AuditRecord } from '../domain/audit.ts';
import type { CostAmounts } from '../domain/cost.ts';
import type { AttemptOutcome, JobCreator, JobLife, JobRequest, RunLine } from '../domain/job.ts';
import type { KeyRecord } from '../domain/key.ts';
import type { ProviderHold } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import type { RunDelta, RunRecord } from '../domain/run.ts';
import type { JobState } from '../domain/states.ts';
import type { WorkerLife } from '../domain/worker.ts';

/** Every kind of change. */
export type Change =
  | JobChange
  | WorkerChange
  | WorkerRemoval
  | KeyChange
  | KeyRemoval
  | AuditChange
  | QueueChange
  | ProviderChange
  | ProviderRemoval
  | RunChange
  | RunRemoval;

export interface JobChange {
  kind: 'job';
  id: string;
  /** 0 for a new job. The stored version becomes this plus one. */
  expectedVersion: number;
  /** Only with a new job. */
  created?:
    | {
        at: number;
        request: JobRequest;
        /** Absent when the key is unknown. */
        by?: JobCreator | undefined;
        /** Absent outside of runs. */
        run?: RunLine | undefined;
        idempotency?: IdempotencyRecord | undefined;
      }
    | undefined;
  state: JobState;
  life: JobLife;
  /** The differences that this change makes to the sums of cost, jobs and attempts. */
  ledger?: LedgerEntry[] | undefined;
  /** The differences that this change makes to the totals of the job's run. */
  runTotals?: RunDifference | undefined;
}

/** A difference to the totals of one run. */
export interface RunDifference {
  runId: string;
  delta: RunDelta;
}

export interface WorkerChange {
  kind: 'worker';
  life: WorkerLife;
}

export interface WorkerRemoval {
  kind: 'workerRemoved';
  id: string;
}

export interface KeyChange {
  kind: 'key';
  key: KeyRecord;
}

export interface KeyRemoval {
  kind: 'keyRemoved';
  id: string;
}

/** Adds an entry to the audit log; entries are neither changed nor removed before they expire. */
export interface AuditChange {
  kind: 'audit';
  record: AuditRecord;
}

/** Pauses or resumes the queue. */
export interface QueueChange {
  kind: 'queue';
  queue: QueueState;
}

export interface ProviderChange {
  kind: 'provider';
  hold: ProviderHold;
}

/** A new run, or what changed in one; its totals follow from the changes of its jobs. */
export interface RunChange {
  kind: 'run';
  run: Omit<RunRecord, 'totals'>;
}

/** Forgets a run; its jobs stay. */
export interface RunRemoval {
  kind: 'runRemoved';
  id: string;
}

/** Removes the hold on a provider. */
export interface ProviderRemoval {
  kind: 'providerRemoved';
  name: string;
}

export interface IdempotencyRecord {
  /** Made by `ownIdempotencyKey`; in records of older versions only what the client sent, without an owner. */
  key: string;
  /** The job created with it; for a batch the first, see `batchId`. */
  jobId: string;
  /** SHA-256 of the request, or of those of a batch, hex. */
  bodyHash: string;
  /** Epoch ms at which it expires. */
  expiresAt: number;
}

/** One line of the ledger: a difference, so that the sum of all lines is the total of the attempts and jobs. */
export interface LedgerEntry {
  /** Epoch ms: the quarter-hour it counts in. */
  at: number;
  provider: string;
  model: string | null;
  workerId: string;
  /** The attempt's outcome as counted for its worker. */
  outcome: AttemptOutcome | null;
  tier: string | null;
  tags: string[];
  /** Negative for a correction. */
  amounts: CostAmounts;
}
