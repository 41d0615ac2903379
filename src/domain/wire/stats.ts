import type { JobState, JobStatus, SupervisorStatus } from '../states.ts';
import type { StoreStatus } from './health.ts';
import type { Iso } from './iso.ts';
import type { WireQueue } from './queue.ts';

/** Answer of GET /api/stats, and the data of the live event `stats`. */
export interface WireStats {
  at: Iso;
  jobs: { total: number; by_status: Record<JobStatus, number>; by_state: Record<JobState, number> };
  /** Ready jobs, the largest groups first; beyond 100 groups the small ones are merged as provider `other`. */
  pending: { provider: string; priority: string; ready: number; oldest_wait_ms: number }[];
  /** Of connected workers. */
  slots: {
    total: number;
    taken: number;
    workers: { id: string; name: string; total: number; taken: number; last_heartbeat_at: Iso | null }[];
    providers: { provider: string; total: number; taken: number; free: number }[];
  };
  /** Workers whose connections are refused, the latest first; at most 10. */
  refused_workers: {
    address: string | null;
    /** null when it was refused before it named itself. */
    name: string | null;
    why: string;
    since: Iso;
    at: Iso;
    tries: number;
  }[];
  throughput: { last_1m: WireThroughput; last_5m: WireThroughput; last_15m: WireThroughput };
  /** From being ready to the first attempt, of the last five minutes. */
  wait: WireSpread;
  /** Of attempts that completed, of the last five minutes. */
  run: WireSpread;
  /** Mean of the last minute. */
  tokens_per_second: { input: number; output: number };
  queue: WireQueue;
  coordinator: {
    status: SupervisorStatus;
    uptime_seconds: number;
    store: StoreStatus;
    journal_bytes: number;
    event_loop_delay_p99_ms: number | null;
    rss_bytes: number | null;
  };
}

/** Answer of GET /api/stats/history: the last hour, day or week in steps, the oldest first. */
export interface WireStatsHistory {
  step_seconds: number;
  points: WireStatsPoint[];
}

/** A step: what happened in it, and the state at its end. */
export interface WireStatsPoint {
  at: Iso;
  throughput: WireThroughput;
  pending: number;
  running: number;
  wait: WireSpread;
  run: WireSpread;
  tokens_per_second: { input: number; output: number };
}

/** Counts of jobs by what happened to them. */
export interface WireThroughput {
  created: number;
  started: number;
  requeued: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** Accurate to 5 %; null when there was none. */
export interface WireSpread {
  count: number;
  p50_ms: number | null;
  p95_ms: number | null;
}
