/* The effect of a change. The running store, its replay at start and a log that folds changes into a checkpoint all use
   it, so that memory and log cannot differ. Pure except for the maps of the registry; their records are replaced, not
   edited. */

import type { AuditRecord } from '../../domain/audit.ts';
import type { FileRecord } from '../../domain/file.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { KeyRecord } from '../../domain/key.ts';
import type { ProviderHold } from '../../domain/provider.ts';
import { type QueueState, untouchedQueue } from '../../domain/queue.ts';
import { addToTotals, noTotals, type RunRecord } from '../../domain/run.ts';
import { isTerminal } from '../../domain/states.ts';
import type { Delivery, WebhookRecord } from '../../domain/webhook.ts';
import type { WorkerRecord } from '../../domain/worker.ts';
import type { RegistryRecords, StoredChange, StoredJobChange } from '../durableLog.ts';
import type { LedgerEntry, RunDifference } from '../store.ts';
import { Annotations } from './annotations.ts';
import type { CostSink } from './costMonth.ts';
import { differentLife } from './lifeDifference.ts';

/** Receives the entries of the audit log. */
export interface AuditSink {
  add(record: AuditRecord): void;
}

/** Everything except jobs: small, and written whole with every checkpoint. */
export interface Registry {
  workers: Map<string, WorkerRecord>;
  keys: Map<string, KeyRecord>;
  queue: QueueState;
  /** By name. */
  providers: Map<string, ProviderHold>;
  /** By id, in order of creation. */
  runs: Map<string, RunRecord>;
  /** By id, in order of creation. */
  files: Map<string, FileRecord>;
  annotations: Annotations;
  /** By id, in order of creation. */
  webhooks: Map<string, WebhookRecord>;
  /** By id, in order of creation. */
  deliveries: Map<string, Delivery>;
  /** Receives the ledger. */
  costs: CostSink;
  /** Receives the audit log. */
  audit: AuditSink;
}

/** The records to store. */
export function recordsOf({
  workers,
  keys,
  queue,
  providers,
  runs,
  files,
  annotations,
  webhooks,
  deliveries,
}: Registry): RegistryRecords {
  return {
    workers: [...workers.values()],
    keys: [...keys.values()],
    queue,
    providers: [...providers.values()],
    runs: [...runs.values()],
    files: [...files.values()],
    annotations: annotations.values(),
    webhooks: [...webhooks.values()],
    deliveries: [...deliveries.values()],
  };
}

/** An empty one, or one with the stored records of a log. */
export function createRegistry(
  { costs, audit }: Pick<Registry, 'costs' | 'audit'>,
  {
    workers = [],
    keys = [],
    queue = untouchedQueue,
    providers = [],
    runs = [],
    files = [],
    annotations = [],
    webhooks = [],
    deliveries = [],
  }: Partial<RegistryRecords> = {},
): Registry {
  return {
    workers: new Map(workers.map((worker) => [worker.life.id, worker])),
    keys: new Map(keys.map((key) => [key.id, key])),
    queue,
    providers: new Map(providers.map((hold) => [hold.name, hold])),
    runs: new Map(runs.map((run) => [run.id, run])),
    files: new Map(files.map((file) => [file.id, file])),
    annotations: new Annotations(annotations),
    webhooks: new Map(webhooks.map((webhook) => [webhook.id, webhook])),
    deliveries: new Map(deliveries.map((delivery) => [delivery.id, delivery])),
    costs,
    audit,
  };
}

/** Apply a change to everything except jobs; of a job's change that is its ledger and what follows from it. */
export function applyToRegistry(registry: Registry, change: StoredChange): void {
  switch (change.kind) {
    case 'job':
      for (const entry of change.ledger ?? []) {
        registry.costs.add(entry);
        tally(registry, entry);
      }
      if (change.runTotals !== undefined) addUp(registry, change.runTotals);
      for (const delivery of change.deliveries ?? []) putDelivery(registry, delivery);
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
    case 'run': {
      const totals = registry.runs.get(change.run.id)?.totals ?? noTotals;
      registry.runs.set(change.run.id, { ...change.run, totals });
      return;
    }
    case 'runRemoved':
      registry.runs.delete(change.id);
      return;
    case 'file':
      registry.files.set(change.file.id, change.file);
      return;
    case 'fileRemoved':
      registry.files.delete(change.id);
      return;
    case 'annotation':
      registry.annotations.put(change.annotation);
      return;
    case 'webhook':
      registry.webhooks.set(change.webhook.id, change.webhook);
      return;
    case 'webhookRemoved':
      registry.webhooks.delete(change.id);
      for (const { id, webhookId } of registry.deliveries.values())
        if (webhookId === change.id) registry.deliveries.delete(id);
      return;
    case 'delivery':
      putDelivery(registry, change.delivery);
      return;
    case 'deliveriesRemoved':
      for (const id of change.ids) registry.deliveries.delete(id);
      return;
  }
}

/** An endpoint may have been removed since the delivery was decided on. */
function putDelivery({ webhooks, deliveries }: Registry, delivery: Delivery): void {
  if (webhooks.has(delivery.webhookId)) deliveries.set(delivery.id, delivery);
}

/** Count a job's change for its run, unless that was removed since. */
function addUp({ runs }: Registry, { runId, delta }: RunDifference): void {
  const run = runs.get(runId);
  if (run !== undefined) runs.set(runId, { ...run, totals: addToTotals(run.totals, delta) });
}

/** Count attempts for their worker, unless it was removed since. */
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
 * @param previous as stored; undefined for a new one. @param ordinal its place in the order of creation.
 * @throws Error when the change does not fit the stored job: the log then does not belong to its checkpoint.
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
  const { difference } = change;
  const life =
    difference === undefined || previous === undefined
      ? change.life
      : differentLife(previous.life, difference);
  if (life === undefined) throw new Error(`a change of job ${change.id} says nothing of its life`);
  const run = previous?.run ?? change.created?.run;
  return {
    ordinal,
    id: change.id,
    version: version + 1,
    createdAt,
    createdBy: previous?.createdBy ?? change.created?.by ?? null,
    ...(run === undefined ? {} : { run }),
    request,
    state: change.state,
    life,
  };
}

/**
 * The job that leaves for the archive. @param previous as stored under this ordinal.
 * @throws Error when there is none or it has not ended: the log then does not belong to its checkpoint.
 */
export function leavingJob(previous: JobRecord | undefined, ordinal: number): JobRecord {
  if (previous === undefined) throw new Error(`job number ${ordinal} is archived, and there is none`);
  if (!isTerminal(previous.state)) throw new Error(`job ${previous.id} is archived while ${previous.state}`);
  return previous;
}

/** When an ended job ended, epoch ms. */
export function endedAt({ life }: JobRecord): number {
  return life.finishedAt ?? life.updatedAt;
}
