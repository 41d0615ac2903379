import {
  type JobCreator,
  type JobLife,
  type JobRecord,
  type JobRequest,
  laneKey,
  type Target,
} from '../../domain/job.ts';
import type { KeyRecord } from '../../domain/key.ts';
import { isTerminal } from '../../domain/states.ts';
import type { WorkerRecord } from '../../domain/worker.ts';
import { entryOf } from '../json/journal/formerLedger.ts';
import type { StoredChange, StoredJobChange } from '../json/journal/record.ts';
import type { AuditSink } from '../memory/auditLog.ts';
import type { LedgerEntry } from '../store.ts';
import type { CostSink } from './costMonth.ts';

/*
 * What a change does. The running store, its replay at start and the checkpoint's thread all come here, so that memory
 * and files cannot differ. Pure but for the maps of the registry; records in them are replaced, not edited.
 */

/** Everything but jobs: few, and written whole with every checkpoint. */
export interface Registry {
  workers: Map<string, WorkerRecord>;
  keys: Map<string, KeyRecord>;
  /** Where the ledger goes. */
  costs: CostSink;
  /** Where the audit log goes. */
  audit: AuditSink;
}

/** An empty one, or one of what a manifest names. */
export function createRegistry(
  { costs, audit }: Pick<Registry, 'costs' | 'audit'>,
  workers: readonly WorkerRecord[] = [],
  keys: readonly KeyRecord[] = [],
): Registry {
  return {
    workers: new Map(workers.map((worker) => [worker.life.id, worker])),
    keys: new Map(keys.map((key) => [key.id, key])),
    costs,
    audit,
  };
}

/** What the change does to everything but jobs; of a job's change that is its ledger. */
export function applyToRegistry(registry: Registry, change: StoredChange): void {
  switch (change.kind) {
    case 'job':
      for (const stored of change.ledger ?? []) {
        const entry = entryOf(stored);
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
 * @throws Error when the change does not fit what was stored: the journal is not the one of these files then.
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
 * @throws Error when there is none or it has not ended: the journal is not the one of these files then.
 */
export function leavingJob(previous: JobRecord | undefined, ordinal: number): JobRecord {
  if (previous === undefined) throw new Error(`job number ${ordinal} is archived, and there is none`);
  if (!isTerminal(previous.state)) throw new Error(`job ${previous.id} is archived while ${previous.state}`);
  return previous;
}

/** Texts and targets that are shared stop being added here: clients may send any number of models and tags. */
const sharedMax = 10_000;
/** Longer texts are hardly ever the same in two jobs. */
const sharedTextMax = 64;

/**
 * Lets jobs share what is equal in them: targets, names of models, tags, empty lists. What comes out of JSON.parse has
 * its own copy of everything; shared, a pending job with a 1 KB prompt costs 1.7 KB of heap instead of 2.1 KB.
 * What is shared is frozen where it is a list or an object, so that an edit by mistake throws instead of reaching other jobs.
 */
export class Sharing {
  readonly #texts = new Map<string, string>();
  readonly #targets = new Map<string, Target>();
  readonly #creators = new Map<string, JobCreator>();
  readonly #noList: never[] = [];
  readonly #noMap: Record<string, never> = {};

  constructor() {
    Object.freeze(this.#noList);
    Object.freeze(this.#noMap);
  }

  /** Put a change, as it came out of JSON.parse, on shared parts, in place: nobody else may hold it yet. */
  change(change: StoredChange): void {
    if (change.kind !== 'job') return;
    this.life(change.life);
    const { created } = change;
    if (created === undefined) return;
    this.request(created.request);
    if (created.by !== undefined) created.by = this.creator(created.by);
  }

  /** The shared one that is equal to this. */
  creator(creator: JobCreator): JobCreator {
    const known = this.#creators.get(creator.keyId);
    if (known?.name === creator.name) return known;
    if (known !== undefined || this.#creators.size < sharedMax)
      this.#creators.set(creator.keyId, Object.freeze(creator));
    return creator;
  }

  /** Put the request on shared parts, in place: nobody else may hold it yet. */
  request(request: JobRequest): void {
    request.provider = this.#textOrNull(request.provider);
    request.model = this.#textOrNull(request.model);
    request.priority = this.#text(request.priority);
    request.tier = this.#textOrNull(request.tier);
    request.tags = this.#list(request.tags.map((tag) => this.#text(tag)));
    request.params = this.#map(request.params);
    request.metadata = this.#map(request.metadata);
  }

  /** Put the life on shared parts, in place: nobody else may hold it yet. */
  life(life: JobLife): void {
    life.target = this.#target(life.target);
    life.chain = this.#list(life.chain.map((target) => this.#target(target)));
    life.priority = this.#text(life.priority);
    life.attempts = this.#list(life.attempts);
    life.route = this.#list(life.route);
    life.tallies = this.#map(life.tallies);
  }

  #text(text: string): string {
    const shared = this.#texts.get(text);
    if (shared !== undefined) return shared;
    if (text.length <= sharedTextMax && this.#texts.size < sharedMax) this.#texts.set(text, text);
    return text;
  }

  #textOrNull(text: string | null): string | null {
    return text === null ? null : this.#text(text);
  }

  #target(target: Target): Target {
    const key = laneKey(target);
    const shared = this.#targets.get(key);
    if (shared !== undefined) return shared;
    if (this.#targets.size < sharedMax) this.#targets.set(key, Object.freeze(target));
    return target;
  }

  #list<T>(list: T[]): T[] {
    return list.length === 0 ? this.#noList : list;
  }

  #map<T>(map: Record<string, T>): Record<string, T> {
    for (const _ in map) return map;
    return this.#noMap;
  }
}
