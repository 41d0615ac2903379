/* What a commit can change. Every change is plain JSON, complete in itself: a log stores it and applies it without looking
   anything up. */

import type { Annotation } from '../domain/annotation.ts';
import type { AuditRecord } from '../domain/audit.ts';
import type { CostAmounts } from '../domain/cost.ts';
import type { FileRecord } from '../domain/file.ts';
import type { AttemptOutcome, JobCreator, JobLife, JobRequest, RunLine } from '../domain/job.ts';
import type { KeyRecord } from '../domain/key.ts';
import type { ProviderHold } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import type { RunDelta, RunRecord } from '../domain/run.ts';
import type { JobState } from '../domain/states.ts';
import type { Delivery, WebhookRecord } from '../domain/webhook.ts';
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
  | RunRemoval
  | FileChange
  | FileRemoval
  | AnnotationChange
  | WebhookChange
  | WebhookRemoval
  | DeliveryChange
  | DeliveryRemoval;

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
  /**
   * The life at `expectedVersion`, if it is at hand: then only what differs from it is written, and memory shares that with
   * `life`. Neither may be edited, now or later.
   */
  lifeBefore?: JobLife | undefined;
  /** The differences that this change makes to the sums of cost, jobs and attempts. */
  ledger?: LedgerEntry[] | undefined;
  /** The differences that this change makes to the totals of the job's run. */
  runTotals?: RunDifference | undefined;
  /** What is to be sent to webhooks because of it. */
  deliveries?: readonly Delivery[] | undefined;
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

/** A new file, whose bytes are durable already. */
export interface FileChange {
  kind: 'file';
  file: FileRecord;
}

/** Forgets a file; its bytes are removed after that. */
export interface FileRemoval {
  kind: 'fileRemoved';
  id: string;
}

/** Replaces what is noted about an answer. */
export interface AnnotationChange {
  kind: 'annotation';
  annotation: Annotation;
}

/** Replaces a webhook endpoint, or adds one. */
export interface WebhookChange {
  kind: 'webhook';
  webhook: WebhookRecord;
}

/** Forgets an endpoint with all of its deliveries. */
export interface WebhookRemoval {
  kind: 'webhookRemoved';
  id: string;
}

/** Replaces a delivery, or adds one. Nothing happens when its endpoint is gone. */
export interface DeliveryChange {
  kind: 'delivery';
  delivery: Delivery;
}

/** Forgets deliveries. */
export interface DeliveryRemoval {
  kind: 'deliveriesRemoved';
  ids: readonly string[];
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
