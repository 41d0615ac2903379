import type { Failure, Fault } from './failure.ts';
import type { KeyBounds } from './key.ts';
import type { WorkerStatus } from './states.ts';

export type WorkerKind = 'cloud' | 'local';

/** A worker whose connections are refused. */
export interface RefusedWorker {
  /** IP address; null when unknown. */
  address: string | null;
  /** null when it was refused before it named itself. */
  name: string | null;
  why: string;
  /** Epoch ms of its first and of its last attempt. */
  since: number;
  at: number;
  tries: number;
}

/** The key that a worker uses. */
export interface WorkerKey extends WorkerOwner {
  bounds: KeyBounds | null;
}

/** The key that owns a worker's name. */
export interface WorkerOwner {
  keyId: string;
  /** The name of the key; null when it has none. */
  name: string | null;
}

/** The context of the worker machine, stored for each worker. Plain JSON. */
export interface WorkerLife {
  id: string;
  /** Unique among live workers; the id belongs to the name. */
  name: string;
  kind: WorkerKind;
  providers: string[];
  /** By provider: the models that the worker advertises. A provider that is absent takes any. */
  models: Record<string, string[]>;
  tags: string[];
  /** Effective slots; 0 takes no work. */
  concurrency: number;
  /**
   * Slots that the worker or an operator requests; more than `concurrency` while the key allows less. Absent: the same.
   */
  wantedConcurrency?: number;
  /** The worker's own setting in its last hello: a PATCHed `concurrency` holds until this changes. */
  declaredConcurrency: number;
  paused: boolean;
  version: string | null;
  host: string | null;
  /** A UUID per worker process; the same one takes over its own older connection. */
  instance: string | null;
  connectedAt: number | null;
  lastHeartbeatAt: number | null;
  /** Other keys may not use the name until an operator frees it. Absent: the first key to use it becomes the owner. */
  owner?: WorkerOwner;
}

/** The requested slots, whatever the key allows. */
export function wantedSlots({ wantedConcurrency, concurrency }: WorkerLife): number {
  return wantedConcurrency ?? concurrency;
}

/** Whether an operator has set its slots, by PATCH. */
export function isResized(life: WorkerLife): boolean {
  return wantedSlots(life) !== life.declaredConcurrency;
}

/** A stored worker. `completed` and `failed` are counted when attempts end. */
export interface WorkerRecord {
  life: WorkerLife;
  completed: number;
  failed: number;
}

/** What a worker declares when it connects. */
export interface WorkerHello {
  name: string;
  kind: WorkerKind;
  providers: string[];
  models: Record<string, string[]>;
  tags: string[];
  concurrency: number;
  version: string | null;
  host: string | null;
  instance: string | null;
}

/** Why a worker is passed over at a provider, or at one of its models. */
export interface Refusal {
  provider: string;
  /** null: jobs that name none, or every model when the fault is the provider's. */
  model: string | null;
  fault: Fault;
  failure: Failure;
  /** Of the last one, epoch ms. */
  at: number;
  /** Until when the worker is passed over, epoch ms; null when its next or current job is a trial. */
  until: number | null;
  /** How many since the last success, without those while it was passed over. */
  inRow: number;
}

/** A worker in the API: its record and what only the coordinator's memory has. */
export interface WorkerView extends WorkerRecord {
  status: WorkerStatus;
  connected: boolean;
  runningJobs: string[];
  /** Each remains until a job of the worker succeeds there. */
  refusals: readonly Refusal[];
}
