import type { Failure } from '../failure.ts';
import type { WorkerStatus } from '../states.ts';
import type { WorkerKind } from '../worker.ts';
import type { Iso } from './iso.ts';

export interface WireWorker {
  id: string;
  name: string;
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
  /** Providers that have turned the worker away for its own key; until then it is passed over there while others serve them. */
  refusals: { provider: string; at: Iso; until: Iso | null; error: Failure }[];
}

export interface WireWorkerList {
  workers: WireWorker[];
  total: number;
  /** Where the next page begins, when this one was ended by its size. */
  next_offset?: number;
}
