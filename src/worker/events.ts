import type { ErrorClass } from '../domain/failure.ts';
import type { AckFrame } from '../domain/workerProtocol.ts';
import type { Ending } from './report.ts';

/** A lease, as the worker's events name it. Never anything of the job's content. */
interface LeaseNote {
  jobId: string;
  lease: number;
  provider: string;
  model: string | null;
}

/** What a Worker tells those who watch it; the arguments of each event. */
export interface WorkerEvents {
  /** The coordinator has welcomed it, the first time or again. */
  connected: [{ workerId: string; paused: boolean; concurrency: number }];
  /** A welcomed connection is gone. `retryMs` until the next attempt. */
  disconnected: [{ code: number; retryMs: number }];
  /** The key was refused; `retryNow` when there is a new one. */
  unauthorized: [];
  assigned: [LeaseNote];
  /** A run is over here; its outcome goes to the coordinator. */
  finished: [LeaseNote & { ending: Ending; errorClass: ErrorClass | null; latencyMs: number }];
  /** The coordinator has answered for a lease: the outcome is durable, or refused. */
  acknowledged: [{ jobId: string; lease: number; accepted: boolean; reason: AckFrame['reason'] }];
  /** An operator changed it. */
  settings: [{ paused: boolean; concurrency: number }];
  /** No heartbeat was answered for the stale time; so many runs were stopped. */
  fenced: [{ stopped: number }];
  draining: [];
  stopped: [];
  /** Something a person should know, in a sentence; also in the log. */
  notice: [{ level: 'info' | 'warn' | 'error'; message: string }];
}
