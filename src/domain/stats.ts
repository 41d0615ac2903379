import type { QueueState } from './queue.ts';
import type { BatchStatus, JobState, JobStatus, RunStatus, SupervisorStatus } from './states.ts';
import type { StoreStatus } from './wire/health.ts';
import type { RefusedWorker } from './worker.ts';

/** The coordinator in figures, at one moment. Durations in ms. */
export interface Stats {
  /** Epoch ms. */
  at: number;
  jobs: { total: number; byStatus: Record<JobStatus, number>; byState: Record<JobState, number> };
  /** Runs by state. */
  runs: Record<RunStatus, number>;
  batches: Record<BatchStatus, number>;
  /** Ready jobs, the largest groups first; beyond a bound the small ones are merged as provider `other`. */
  pending: PendingGroup[];
  slots: { total: number; taken: number; workers: WorkerSlots[]; providers: ProviderSlots[] };
  /** Workers whose connections are refused, the latest first; at most 10. */
  refusedWorkers: RefusedWorker[];
  throughput: Record<'last1m' | 'last5m' | 'last15m', Throughput>;
  /** From being ready to the first attempt, of the last five minutes. */
  wait: Spread;
  /** Duration of attempts that completed, of the last five minutes. */
  run: Spread;
  /** Mean of the last minute, as reported by workers. */
  tokensPerSecond: { input: number; output: number };
  queue: QueueState;
  coordinator: {
    status: SupervisorStatus;
    uptimeMs: number;
    journalBytes: number;
    store: StoreStatus;
    vitals: Vitals | null;
  };
}

/** The ranges of the history: an hour in steps of 10 s, a day in steps of 1 min, a week in steps of 10 min. */
export const statsRanges = ['hour', 'day', 'week'] as const;
export type StatsRange = (typeof statsRanges)[number];

/** The oldest point first. */
export interface StatsHistory {
  stepSeconds: number;
  points: StatsPoint[];
}

/** What happened in a step, and the state at its end. */
export interface StatsPoint {
  /** Epoch ms of the step's end. */
  at: number;
  throughput: Throughput;
  pending: number;
  running: number;
  /** Of the five minutes up to then. */
  wait: Spread;
  run: Spread;
  /** Mean of the step. */
  tokensPerSecond: { input: number; output: number };
}

export interface PendingGroup {
  provider: string;
  priority: string;
  ready: number;
  oldestWaitMs: number;
}

export interface WorkerSlots {
  id: string;
  name: string;
  total: number;
  taken: number;
  /** Epoch ms. */
  lastHeartbeatAt: number | null;
}

/**
 * Of the connected workers that serve it; a worker that serves several counts for each. `free` goes by the provider's
 * max_concurrent too.
 */
export interface ProviderSlots {
  provider: string;
  total: number;
  taken: number;
  free: number;
}

/** Counts of jobs by what happened to them. */
export type Throughput = Record<
  'created' | 'started' | 'requeued' | 'completed' | 'failed' | 'cancelled',
  number
>;

export interface Spread {
  count: number;
  /** null when there was none. */
  p50: number | null;
  p95: number | null;
}

/** Figures of the process; the coordinator reads them through a port. */
export interface Vitals {
  /** 99th percentile of the event loop's delay, over the last half minute or so. */
  eventLoopDelayP99Ms: number;
  rssBytes: number;
}
