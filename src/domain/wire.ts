import type { PeriodName } from './costReport.ts';
import type { Failure } from './failure.ts';
import type { AttemptOutcome, Message, StrategyName } from './job.ts';
import type { Role } from './key.ts';
import type { MachineName } from './machine.ts';
import type { CostStatus } from './money.ts';
import type { JobState, JobStatus, ProviderStatus, SupervisorStatus, WorkerStatus } from './states.ts';
import type { WireUsage } from './usage.ts';
import type { WaitingReason } from './waiting.ts';
import type { WorkerKind } from './worker.ts';
import type { ToolCall } from './workerProtocol.ts';

/** The JSON of the public API: what the server's presenters make and what the client reads. See docs/api.md. */

/** ISO 8601, UTC, with milliseconds. */
export type Iso = string;

export interface WireJob {
  id: string;
  status: JobStatus;
  prompt: string | null;
  /** Left out of lists unless `include=input`. */
  input?: string | null;
  messages: Message[] | null;
  provider: string | null;
  model: string | null;
  priority: string;
  tier: string | null;
  tags: string[];
  params: Record<string, unknown>;
  metadata: Record<string, string>;
  created_at: Iso;
  updated_at: Iso;
  started_at: Iso | null;
  finished_at: Iso | null;
  not_before: Iso | null;
  enqueued_at: Iso;
  timeout_seconds: number | null;
  worker_id: string | null;
  heartbeat_at: Iso | null;
  stuck: boolean;
  attempt_count: number;
  retry_count: number;
  reap_count: number;
  cost_usd: number | null;
  cost_status: CostStatus;
  waiting: { reason: WaitingReason; detail: string; until: Iso | null; position: number | null } | null;
  route: WireRouteStep[];
  attempts: WireAttempt[];
  /** Left out of lists unless `include=result`. */
  result?: WireJobResult | null;
  error: Failure | null;
}

export interface WireRouteStep {
  provider: string;
  model: string | null;
  worker_id: string | null;
  outcome: 'chosen' | 'skipped' | 'failed';
  why: string;
  at: Iso;
}

export interface WireAttempt {
  number: number;
  lease: number;
  worker_id: string;
  provider: string;
  model: string | null;
  started_at: Iso;
  finished_at: Iso | null;
  outcome: AttemptOutcome | null;
  error: Failure | null;
  usage: WireUsage | null;
  cost_usd: number | null;
  cost_status: CostStatus;
}

export interface WireJobResult {
  output: string;
  tool_calls?: ToolCall[];
  finish_reason: string;
  provider: string;
  model: string | null;
  worker_id: string;
  usage: WireUsage;
  raw_usage?: unknown;
  latency_ms: number;
  first_token_ms: number | null;
}

/** A job has come from one state of its machine to another. */
export interface WireHistoryEntry {
  at: Iso;
  /** null: the job was dispatched. */
  event: string | null;
  /** null: the job was new. */
  from: JobState | null;
  to: JobState;
  /** Number of the last attempt at that moment; null before the first. */
  attempt: number | null;
}

export interface WireJobHistory {
  job_id: string;
  /** The state it is in; the last entry leads there. */
  state: JobState;
  /** Oldest first. */
  entries: WireHistoryEntry[];
  /** Whether some entries are missing. */
  truncated: boolean;
}

/** Body of POST /api/jobs. */
export interface DispatchBody {
  prompt?: string;
  messages?: Message[];
  input?: string;
  provider?: string;
  model?: string;
  priority?: string;
  tier?: string;
  tags?: string[];
  params?: Record<string, unknown>;
  metadata?: Record<string, string>;
  timeout_seconds?: number;
  not_before?: Iso;
}

/** Answer of POST /api/jobs/batch: the jobs in the order they were sent. */
export interface WireBatch {
  jobs: { id: string; status: JobStatus }[];
  count: number;
}

/** The jobs that POST /api/jobs/cancel and /retry mean: named, or all that a list with this query shows. */
export type BulkBody = { ids: readonly string[] } | { filter: Record<string, string | readonly string[]> };

/** Answer of POST /api/jobs/cancel and /retry. */
export interface WireBulk {
  changed: number;
  refused_count: number;
  /** The first 100. */
  refused: { id: string; code: string; detail: string }[];
  /** There are more jobs that fit; the same request again changes them. */
  has_more: boolean;
}

export interface WireJobList {
  jobs: WireJob[];
  total: number;
  total_capped?: true;
  limit: number;
  offset: number;
}

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
}

export interface WireWorkerList {
  workers: WireWorker[];
  total: number;
}

export interface WireProvider {
  name: string;
  configured: boolean;
  status: ProviderStatus;
  until: Iso | null;
  changed_at: Iso | null;
  running: number;
  max_concurrent: number | null;
  latency_ms: number | null;
  model: string | null;
  rate_limit: {
    max_concurrent: number | null;
    retry_after_seconds: number;
    max_retries: number;
    retry_after_max_seconds: number;
  } | null;
  limits_in_row: number;
  breaker: {
    ratio: number;
    minimum: number;
    window_seconds: number;
    open_seconds: number;
    attempts: number;
    failed: number;
    opens_in_row: number;
  };
  /** Connected ones that serve it. */
  workers: number;
  slots: number;
  free_slots: number;
  models: string[];
}

export interface WireProviderList {
  providers: WireProvider[];
  total: number;
}

/** Answer of GET /api/stats, and the data of the live event `stats`. */
export interface WireStats {
  at: Iso;
  jobs: { total: number; by_status: Record<JobStatus, number>; by_state: Record<JobState, number> };
  /** Ready jobs, the largest groups first; beyond 100 groups the small ones are together as provider `other`. */
  pending: { provider: string; priority: string; ready: number; oldest_wait_ms: number }[];
  /** Of connected workers. */
  slots: {
    total: number;
    taken: number;
    workers: { id: string; name: string; total: number; taken: number; last_heartbeat_at: Iso | null }[];
    providers: { provider: string; total: number; taken: number; free: number }[];
  };
  throughput: { last_1m: WireThroughput; last_5m: WireThroughput; last_15m: WireThroughput };
  /** From being ready to the first attempt, of the last five minutes. */
  wait: WireSpread;
  /** Of attempts that completed, of the last five minutes. */
  run: WireSpread;
  /** Mean of the last minute. */
  tokens_per_second: { input: number; output: number };
  coordinator: {
    status: SupervisorStatus;
    uptime_seconds: number;
    store: string;
    journal_bytes: number;
    event_loop_delay_p99_ms: number | null;
    rss_bytes: number | null;
  };
}

/** Answer of GET /api/stats/history: the last hour in steps, the oldest first. */
export interface WireStatsHistory {
  step_seconds: number;
  points: WireStatsPoint[];
}

/** A step, told at its end: what happened in it, and how things stood. */
export interface WireStatsPoint {
  at: Iso;
  throughput: WireThroughput;
  pending: number;
  running: number;
  wait: WireSpread;
  run: WireSpread;
  tokens_per_second: { input: number; output: number };
}

/** What happened to how many jobs. */
export interface WireThroughput {
  created: number;
  started: number;
  requeued: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** Right to 5 %; null when there was none. */
export interface WireSpread {
  count: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

/** A calendar period of a time zone or days of it, up to now at most. */
export interface WireCostPeriod {
  period: PeriodName | 'custom';
  from: Iso;
  /** Now, or the end of the last day. */
  to: Iso;
  /** IANA name. */
  timezone: string;
  currency: 'USD';
}

export interface WireCostTotals {
  /** Of the attempts whose cost is known; the others are in `unknown_cost_attempts`. */
  total_cost_usd: number;
  jobs: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  reasoning_tokens: number;
  unknown_cost_attempts: number;
}

export interface WireCostSummary extends WireCostPeriod, WireCostTotals {
  /** The whole period before. */
  previous: WireCostTotals & { from: Iso; to: Iso };
  /** Hours of a day, days of a week or month; none after now. */
  series: { from: Iso; cost_usd: number; jobs: number; unknown_cost_attempts: number }[];
}

export interface WireCostLine {
  cost_usd: number;
  /** Of the total, 0..1. */
  share: number;
  jobs: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  unknown_cost_attempts: number;
}

export type WireCostModel = { model: string | null } & WireCostLine;
export type WireCostProvider = { provider: string } & WireCostLine & { models: WireCostModel[] };

/** By `by`: one of the lists, the dearest first. */
export interface WireCostBreakdown extends WireCostPeriod {
  total_cost_usd: number;
  providers?: WireCostProvider[];
  models?: ({ provider: string } & WireCostModel)[];
  workers?: ({ worker_id: string; name: string | null } & WireCostLine)[];
  tags?: ({ tag: string | null } & WireCostLine)[];
  tiers?: ({ tier: string | null } & WireCostLine)[];
}

/** A machine with how many actors are where: jobs, workers, providers, or the supervisor. */
export interface WireMachine {
  name: MachineName;
  description: string;
  initial: string;
  total: number;
  states: WireMachineState[];
  /** In every state. */
  transitions: WireMachineTransition[];
}

export interface WireMachineState {
  path: string;
  description: string;
  kind: 'atomic' | 'compound' | 'transient' | 'final';
  initial: string | null;
  tags: string[];
  /** Those in states inside of it included. */
  count: number;
  transitions: WireMachineTransition[];
}

export interface WireMachineTransition {
  /** null: at once, without an event. */
  event: string | null;
  guard: string | null;
  /** null: the state stays. */
  target: string | null;
  actions: string[];
  description: string | null;
}

/** An actor that has done something since it is inspected. */
export interface WireInspectedActor {
  machine: MachineName;
  actor_id: string;
  state: string;
  event_count: number;
  updated_at: Iso;
}

/** What an actor has done with one event. Of event and context only what belongs to nobody is there. */
export interface WireInspected {
  at: Iso;
  machine: MachineName;
  actor_id: string;
  event: { type: string } & Record<string, unknown>;
  /** null when it is not known any more. */
  from: string | null;
  to: string;
  context: Record<string, unknown>;
}

export interface WireInspection {
  /** Whether the coordinator was started with `--inspect`; the rest is empty otherwise. */
  enabled: boolean;
  /** The most recent first. */
  actors: WireInspectedActor[];
  /** Oldest first. */
  events: WireInspected[];
}

export interface WireMachineList {
  machines: WireMachine[];
  total: number;
}

export interface WireKey {
  id: string;
  role: Role;
  name: string | null;
  created_at: Iso;
  expires_at: Iso | null;
  /** Until when the secret before the last rotation is still taken. */
  previous_valid_until: Iso | null;
}

/** Answered once, when the key is made or rotated. */
export interface WireNewKey extends WireKey {
  key: string;
}

export interface WireKeyList {
  keys: WireKey[];
}

export interface WireTicket {
  ticket: string;
  expires_at: Iso;
}

/** Answer of POST /api/route/explain. */
export interface WireRouteExplanation {
  strategy: StrategyName;
  /** What decided, in one sentence. */
  why: string;
  /** Place of the rule that decided, from 0; null for none. */
  rule: number | null;
  /** Who would run the job now, or whom it would wait for; null when every member is skipped. */
  chosen: { provider: string; model: string | null } | null;
  members: {
    provider: string;
    model: string | null;
    worker: string | null;
    worker_tag: string | null;
    state: 'ready' | 'busy' | 'skipped';
    outcome: 'chosen' | 'skipped' | 'not_needed';
    why: string;
    until: Iso | null;
  }[];
}

/** Answer of GET /api/config. */
export interface WireConfig {
  /** With the keys of the file; secrets are masked. */
  config: Record<string, unknown>;
  /** By key path: flag, environment, file or default. */
  sources: Record<string, string>;
  /** Absolute; null when there is none. */
  file: string | null;
  /** Keys whose value in the file waits for a restart. */
  needs_restart: string[];
  warnings: string[];
}

/** Answer of POST /api/config/reload. */
export interface WireConfigReload {
  changed: { key: string; from: unknown; to: unknown }[];
  needs_restart: string[];
  warnings: string[];
}

export interface WireHealth {
  status: 'ok' | 'draining' | 'degraded';
  version: string;
  uptime_seconds: number;
  store: string;
}

/** RFC 9457 problem document. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors?: { field: string; message: string }[];
  job_status?: string;
  request_id: string;
}

/** The last moment that was shown: a new job shows the one of its creation three times, and formatting costs 0.4 µs. */
let shown = { at: Number.NaN, text: '' };

/** Epoch ms as the wire shows it. */
export function iso(at: number): Iso;
export function iso(at: number | null): Iso | null;
export function iso(at: number | null): Iso | null {
  if (at === null) return null;
  if (at !== shown.at) shown = { at, text: new Date(at).toISOString() };
  return shown.text;
}
