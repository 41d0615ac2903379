import type { ErrorClass } from '../domain/failure.ts';
import type { Ending } from './report.ts';

/** What the program that started a worker may send it, over the channel of Node's child processes. */
export type WorkerOrder =
  /** Read the configuration again and use it; running jobs continue. */
  | { type: 'reload' }
  /** Take no more work and stay connected, or take it again. */
  | { type: 'hold'; held: boolean }
  /** Finish running jobs within the grace, give the rest back, and exit. */
  | { type: 'drain'; graceSeconds: number };

/** A job that a worker runs. Never its content. */
export interface SupervisedJob {
  jobId: string;
  provider: string;
  model: string | null;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** What a supervised worker is doing. */
export interface SupervisedState {
  isConnected: boolean;
  /** By an operator of the coordinator. */
  isPaused: boolean;
  isDraining: boolean;
  slots: number;
  /** How many jobs it runs; `jobs` has the oldest of them. */
  running: number;
  jobs: SupervisedJob[];
  /** The models of each provider. */
  models: Readonly<Record<string, readonly string[]>>;
}

/** A job that has ended in a supervised worker. */
export interface SupervisedEnd {
  jobId: string;
  provider: string;
  model: string | null;
  ending: Ending;
  errorClass: ErrorClass | null;
  inputTokens: number | null;
  outputTokens: number | null;
}

/** What a supervised worker reports. */
export type WorkerMessage =
  | { type: 'state'; state: SupervisedState }
  | { type: 'notice'; level: 'info' | 'warn' | 'error'; message: string }
  | { type: 'finished'; end: SupervisedEnd };

/** Jobs in one report. */
export const supervisedJobsMax = 20;
