import type { Failure, Fault } from './failure.ts';
import type { KeyBounds } from './key.ts';
import type { WorkerStatus } from './states.ts';

export type WorkerKind = 'cloud' | 'local';

/** A worker that tries to connect and is refused. */
export interface RefusedWorker {
  /** IP address; null when nobody knows it. */
  address: string | null;
  /** null when it was refused before it could say one. */
  name: string | null;
  why: string;
  /** Epoch ms of its first and of its last try. */
  since: number;
  at: number;
  tries: number;
}

/** The key with which a worker comes. */
export interface WorkerKey extends WorkerOwner {
  bounds: KeyBounds | null;
}

/** The key that a worker's name belongs to. */
export interface WorkerOwner {
  keyId: string;
  /** The name of the key; null when it has none. */
  name: string | null;
}

/** The context of the worker machine, and what the store keeps of a worker. Plain JSON. */
export interface WorkerLife {
  id: string;
  /** Unique among live workers; the id stays with the name. */
  name: string;
  kind: WorkerKind;
  providers: string[];
  /** By provider: the models that the worker advertises. A provider that is absent takes any. */
  models: Record<string, string[]>;
  tags: string[];
  /** Slots in force; 0 takes no work. */
  concurrency: number;
  /** What the worker or an operator wants; more than `concurrency` while the key allows less. Absent: the same. */
  wantedConcurrency?: number;
  /** The worker's own setting, as its last hello said: a PATCHed `concurrency` holds until this changes. */
  declaredConcurrency: number;
  paused: boolean;
  version: string | null;
  host: string | null;
  /** A UUID per worker process; the same one takes over its own older connection. */
  instance: string | null;
  connectedAt: number | null;
  lastHeartbeatAt: number | null;
  /** Another key may not say the name until an operator frees it. Absent: nobody's yet, the first key that says it gets it. */
  owner?: WorkerOwner;
}

/** Slots that are wanted, whatever the key allows. */
export function wantedSlots({ wantedConcurrency, concurrency }: WorkerLife): number {
  return wantedConcurrency ?? concurrency;
}

/** Whether an operator has said how many slots it gets, by PATCH. */
export function isResized(life: WorkerLife): boolean {
  return wantedSlots(life) !== life.declaredConcurrency;
}

/** A worker as the store keeps it. `completed` and `failed` are counted from the attempts' ends. */
export interface WorkerRecord {
  life: WorkerLife;
  completed: number;
  failed: number;
}

/** What a worker says of itself when it connects. */
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

/** Why a worker is passed over at a provider, or at one model of it. */
export interface Refusal {
  provider: string;
  /** null: jobs that name none, or every model when the fault is the provider's. */
  model: string | null;
  fault: Fault;
  failure: Failure;
  /** Of the last one, epoch ms. */
  at: number;
  /** Until when the worker is passed over, epoch ms; null when its next job, or the one under way, is a trial. */
  until: number | null;
  /** How many since the last success, those that came while it was passed over apart. */
  inRow: number;
}

/** A worker as the API shows it: its record and what only the coordinator's memory knows. */
export interface WorkerView extends WorkerRecord {
  status: WorkerStatus;
  connected: boolean;
  runningJobs: string[];
  /** Each until a job of the worker ends well there. */
  refusals: readonly Refusal[];
}
