import type { ErrorClass } from '../domain/failure.ts';
import type { AckFrame } from '../domain/workerProtocol.ts';
import type { Ending } from './report.ts';

/** A lease in the worker's events. Never the job's content. */
interface LeaseNote {
  jobId: string;
  lease: number;
  provider: string;
  model: string | null;
}

/** The events of a Worker, with their arguments. */
export interface WorkerEvents {
  /** The coordinator has welcomed it, for the first time or again. */
  connected: [{ workerId: string; paused: boolean; concurrency: number }];
  /** A welcomed connection is closed. `retryMs` until the next attempt. */
  disconnected: [{ code: number; retryMs: number }];
  /** The key was refused; call `retryNow` with a new one. */
  unauthorized: [];
  assigned: [LeaseNote];
  /** A run has ended here; its outcome is sent to the coordinator. */
  finished: [
    LeaseNote & {
      ending: Ending;
      errorClass: ErrorClass | null;
      latencyMs: number;
      /** Of this attempt; null when the provider did not report it. */
      inputTokens: number | null;
      outputTokens: number | null;
    },
  ];
  /** The coordinator has acknowledged an outcome: it is durable, or refused. */
  acknowledged: [{ jobId: string; lease: number; accepted: boolean; reason: AckFrame['reason'] }];
  /** An operator changed it. */
  settings: [{ paused: boolean; concurrency: number }];
  /** No heartbeat was answered within the stale time; this many runs were stopped. */
  fenced: [{ stopped: number }];
  draining: [];
  stopped: [];
  /** A sentence for the operator; also logged. */
  notice: [{ level: 'info' | 'warn' | 'error'; message: string }];
}
