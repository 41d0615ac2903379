import type { QueueState } from './queue.ts';
import type { JobState, JobStatus, SupervisorStatus } from './states.ts';
import type { RefusedWorker } from './worker.ts';

/** The coordinator in figures, at one moment. Durations in ms. */
export interface Stats {
  /** Epoch ms. */
  at: number;
  jobs: { total: number; byStatus: Record<JobStatus, number>; byState: Record<JobState, number> };
  /** Ready jobs, the largest groups first; small ones beyond a bound are together as provider `other`. */
  pending: PendingGroup[];
  slots: { total: number; taken: number; workers: WorkerSlots[]; providers: ProviderSlots[] };
  /** Workers that try to connect and are refused, the last one first; at most 10. */
  refusedWorkers: RefusedWorker[];
  throughput: Record<'last1m' | 'last5m' | 'last15m', Throughput>;
  /** From being ready to the first attempt, of the last five minutes. */
  wait: Spread;
  /** From the begin to the end of attempts that completed, of the last five minutes. */
  run: Spread;
  /** Mean of the last minute, as workers reported usage. */
  tokensPerSecond: { input: number; output: number };
  queue: QueueState;
  coordinator: {
    status: SupervisorStatus;
    uptimeMs: number;
    journalBytes: number;
    store: string;
    vitals: Vitals | null;
  };
}

/** How far back a history goes: an hour in steps of 10 s, a day in steps of 1 min, a week in steps of 10 min. */
export const statsRanges = ['hour', 'day', 'week'] as const;
export type StatsRange = (typeof statsRanges)[number];

/** The oldest point first. */
export interface StatsHistory {
  stepSeconds: number;
  points: StatsPoint[];
}

/** What happened in a step, and how things stood at its end. */
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

/** What happened to how many jobs. */
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

/** What the process says of itself; the coordinator asks it through a port. */
export interface Vitals {
  /** 99th percentile of how late the event loop was, over the last half minute or so. */
  eventLoopDelayP99Ms: number;
  rssBytes: number;
}
