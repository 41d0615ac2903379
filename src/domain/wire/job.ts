import type { Failure } from '../failure.ts';
import type { AttemptOutcome, Message, ToolCall } from '../job.ts';
import type { CostStatus } from '../money.ts';
import type { JobState, JobStatus } from '../states.ts';
import type { WireUsage } from '../usage.ts';
import type { WaitingReason } from '../waiting.ts';
import type { Iso } from './iso.ts';
import type { WireRunLine } from './runLine.ts';

/**
 * A job. Lists and live events shorten long fields, and mark them with `…_truncated`; `GET /api/jobs/:id` has
 * everything.
 */
export interface WireJob {
  id: string;
  status: JobStatus;
  prompt: string | null;
  /** Whether the prompt is cut; absent where jobs are whole. */
  prompt_truncated?: boolean;
  /** Absent in lists unless `include=input` or `request`. */
  input?: string | null;
  input_truncated?: boolean;
  messages: Message[] | null;
  messages_truncated?: true;
  provider: string | null;
  model: string | null;
  priority: string;
  tier: string | null;
  /** What it notifies of its end; absent when it named nothing. */
  webhook?: string;
  /** The run that it belongs to, and its line there. */
  run: WireRunLine | null;
  tags: string[];
  tags_truncated?: true;
  params: Record<string, unknown>;
  params_truncated?: true;
  metadata: Record<string, string>;
  metadata_truncated?: true;
  created_at: Iso;
  /** The key that created it, with its name at that time; null for a job from before this was recorded. */
  created_by: { key_id: string; name: string | null } | null;
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
  route_truncated?: true;
  attempts: WireAttempt[];
  attempts_truncated?: true;
  /** Absent in lists unless `include=result`. */
  result?: WireJobResult | null;
  error: Failure | null;
  error_truncated?: true;
}

/** A job with all that it has: the answer of every route about one job. */
export type WireWholeJob = Required<Pick<WireJob, 'input' | 'result'>> &
  Omit<WireJob, 'input' | 'result' | `${string}_truncated`>;

/** A job of a list or a live event. */
export type WireListedJob = Required<Pick<WireJob, 'prompt_truncated'>> & Omit<WireJob, 'prompt_truncated'>;

/** What a client reads of the tokens that were used; `cost_usd` of the attempt has the price. */
export type WireTokens = Omit<WireUsage, 'cost_usd'>;

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
  usage: WireTokens | null;
  /** More tokens than an attempt can have used; its cost is then unknown, and no sum includes it. */
  usage_implausible?: true;
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
  usage: WireTokens;
  raw_usage?: unknown;
  latency_ms: number;
  first_token_ms: number | null;
}

/** One change of a job's state. */
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
  /** Its current state; the last entry leads there. */
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
  /** Name or id of a webhook that is notified of its end, or an allowed URL. */
  webhook?: string;
}

/** Answer of POST /api/jobs/batch: the jobs in the order of the request. */
export interface WireBatch {
  jobs: { id: string; status: JobStatus }[];
  count: number;
}

/** The jobs of POST /api/jobs/cancel and /retry: named, or all that a list with this query shows. */
export type BulkBody = { ids: readonly string[] } | { filter: Record<string, string | readonly string[]> };

/** Answer of POST /api/jobs/cancel and /retry. */
export interface WireBulk {
  changed: number;
  refused_count: number;
  /** The first 100. */
  refused: { id: string; code: 'invalid_transition' | 'job_not_found'; detail: string }[];
  /** More jobs match; the same request again changes them. */
  has_more: boolean;
}

export interface WireJobList {
  jobs: WireJob[];
  total: number;
  total_capped?: true;
  limit: number;
  offset: number;
  /** Where the next page begins, when its size ended this one before its limit. */
  next_offset?: number;
}
