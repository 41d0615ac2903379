import type { Failure, Fault } from '../failure.ts';
import type { WorkerStatus } from '../states.ts';
import type { WorkerKind } from '../worker.ts';
import type { Iso } from './iso.ts';

export interface WireWorker {
  id: string;
  name: string;
  /** The key that owns the name; null: the first key to use it becomes the owner. */
  key: { key_id: string; name: string | null } | null;
  kind: WorkerKind;
  providers: string[];
  models: Record<string, string[]>;
  tags: string[];
  concurrency: number;
  connected: boolean;
  paused: boolean;
  status: WorkerStatus;
  running_jobs: string[];
  running: number;
  version: string | null;
  host: string | null;
  connected_at: Iso | null;
  last_heartbeat_at: Iso | null;
  completed: number;
  failed: number;
  /** Why it is passed over at a provider, or at one of its models. */
  refusals: WireRefusal[];
}

export interface WireRefusal {
  provider: string;
  model: string | null;
  fault: Fault;
  at: Iso;
  /** Until then others get its jobs; null: its next job is a trial. */
  until: Iso | null;
  in_row: number;
  error: Failure;
}

export interface WireWorkerList {
  workers: WireWorker[];
  total: number;
  /** Where the next page begins, when its size ended this one. */
  next_offset?: number;
}
