/*
 * What a change does. The running store, its replay at start and a log that folds changes into a checkpoint all come here, so
 * that memory and what is kept cannot differ. Pure but for the maps of the registry; records in them are replaced, not edited.
 */

import type { AuditRecord } from '../../domain/audit.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { KeyRecord } from '../../domain/key.ts';
import type { ProviderHold } from '../../domain/provider.ts';
import { type QueueState, untouchedQueue } from '../../domain/queue.ts';
import { isTerminal } from '../../domain/states.ts';
import type { WorkerRecord } from '../../domain/worker.ts';
import type { RegistryRecords, StoredChange, StoredJobChange } from '../durableLog.ts';
import type { LedgerEntry } from '../store.ts';
import type { CostSink } from './costMonth.ts';

/** Where the entries of the audit log go. */
export interface AuditSink {
  add(record: AuditRecord): void;
}

/** Everything but jobs: few, and written whole with every checkpoint. */
export interface Registry {
  workers: Map<string, WorkerRecord>;
  keys: Map<string, KeyRecord>;
  queue: QueueState;
  /** By name. */
  providers: Map<string, ProviderHold>;
  /** Where the ledger goes. */
  costs: CostSink;
  /** Where the audit log goes. */
  audit: AuditSink;
}

/** What a log is to keep of it. */
export function recordsOf({ workers, keys, queue, providers }: Registry): RegistryRecords {
  return {
    workers: [...workers.values()],
    keys: [...keys.values()],
    queue,
    providers: [...providers.values()],
  };
}

/** An empty one, or one of what a log begins with. */
export function createRegistry(
  { costs, audit }: Pick<Registry, 'costs' | 'audit'>,
  { workers = [], keys = [], queue = untouchedQueue, providers = [] }: Partial<RegistryRecords> = {},
): Registry {
  return {
    workers: new Map(workers.map((worker) => [worker.life.id, worker])),
    keys: new Map(keys.map((key) => [key.id, key])),
    queue,
    providers: new Map(providers.map((hold) => [hold.name, hold])),
    costs,
    audit,
  };
}

/** What the change does to everything but jobs; of a job's change that is its ledger. */
export function applyToRegistry(registry: Registry, change: StoredChange): void {
  switch (change.kind) {
    case 'job':
      for (const entry of change.ledger ?? []) {
        registry.costs.add(entry);
        tally(registry, entry);
      }
      return;
    case 'archived':
      return;
    case 'worker': {
      const { completed = 0, failed = 0 } = registry.workers.get(change.life.id) ?? {};
      registry.workers.set(change.life.id, { life: change.life, completed, failed });
      return;
    }
    case 'workerRemoved':
      registry.workers.delete(change.id);
      return;
    case 'key':
      registry.keys.set(change.key.id, change.key);
      return;
    case 'keyRemoved':
      registry.keys.delete(change.id);
      return;
    case 'audit':
      registry.audit.add(change.record);
      return;
    case 'queue':
      registry.queue = change.queue;
      return;
    case 'provider':
      registry.providers.set(change.hold.name, change.hold);
      return;
    case 'providerRemoved':
      registry.providers.delete(change.name);
      return;
  }
}

/** Count attempts for their worker; one that was removed meanwhile is not counted any more. */
function tally({ workers }: Registry, { workerId, outcome, amounts }: LedgerEntry): void {
  const worker = workers.get(workerId);
  if (worker === undefined || amounts.attempts === 0) return;
  if (outcome === 'completed') {
    workers.set(workerId, { ...worker, completed: worker.completed + amounts.attempts });
  } else if (outcome === 'failed' || outcome === 'timed_out') {
    workers.set(workerId, { ...worker, failed: worker.failed + amounts.attempts });
  }
}

/**
 * The job after the change.
 * @param previous what was stored; undefined for a new one. @param ordinal its place in the order of creation.
 * @throws Error when the change does not fit what was stored: the log does not belong to what it began with then.
 */
export function nextJob(
  previous: JobRecord | undefined,
  change: StoredJobChange,
  ordinal: number,
): JobRecord {
  const version = previous?.version ?? 0;
  const request = previous?.request ?? change.created?.request;
  const createdAt = previous?.createdAt ?? change.created?.at;
  if (version !== change.expectedVersion || request === undefined || createdAt === undefined) {
    throw new Error(
      `a change of job ${change.id} expects version ${change.expectedVersion}, it is at ${version}`,
    );
  }
  return {
    ordinal,
    id: change.id,
    version: version + 1,
    machineVersion: change.machineVersion,
    createdAt,
    createdBy: previous?.createdBy ?? change.created?.by ?? null,
    request,
    state: change.state,
    life: change.life,
  };
}

/**
 * The job that leaves for the archive. @param previous what was stored under this ordinal.
 * @throws Error when there is none or it has not ended: the log does not belong to what it began with then.
 */
export function leavingJob(previous: JobRecord | undefined, ordinal: number): JobRecord {
  if (previous === undefined) throw new Error(`job number ${ordinal} is archived, and there is none`);
  if (!isTerminal(previous.state)) throw new Error(`job ${previous.id} is archived while ${previous.state}`);
  return previous;
}

/** When a job that has ended did so, epoch ms. */
export function endedAt({ life }: JobRecord): number {
  return life.finishedAt ?? life.updatedAt;
}
