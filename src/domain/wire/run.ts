/** Runs as the API shows them: a file of prompts with a name, its progress, its budget, and its answers. */

import type { ErrorClass } from '../failure.ts';
import type { CostStatus } from '../money.ts';
import type { BatchStatus, JobStatus, RunStatus } from '../states.ts';
import type { Iso } from './iso.ts';
import type { DispatchBody } from './job.ts';

/** A named collection of jobs that belong together, such as the lines of a file. */
export interface WireRun {
  id: string;
  /** Unique; the API takes it in place of the id. */
  name: string;
  /** `completed`: every job has ended, however it ended. More jobs start it again. */
  status: RunStatus;
  created_at: Iso;
  /** The key that made it. */
  created_by: { key_id: string; name: string | null } | null;
  /** When it was completed or cancelled. */
  finished_at: Iso | null;
  /** The run pauses before it spends more; null: no limit. */
  max_cost_usd: number | null;
  /** The run pauses when this many of its jobs have failed; null: no limit. */
  max_failures: number | null;
  /** The run pauses at this time; null: none. */
  deadline: Iso | null;
  /** Fields for jobs that do not set them. */
  defaults: DispatchBody;
  /** JSON Schema of its answers; null: every answer will do. */
  output_schema: boolean | Record<string, unknown> | null;
  /** How often an answer that is not so is asked for again; null without a schema. */
  output_retries: number | null;
  counts: WireRunCounts;
  /** Known costs of all attempts; without those of `unknown_cost_attempts`. */
  cost_usd: number;
  /** The estimates of the attempts that run now, and of those whose cost is unknown: counts against `max_cost_usd`. */
  cost_reserved_usd: number;
  /** What the run will have cost at its end, from the mean of the jobs that have ended; null before the first. */
  cost_expected_usd: number | null;
  unknown_cost_attempts: number;
  input_tokens: number;
  output_tokens: number;
  /** Jobs that ended in the last minute. */
  rate_per_minute: number;
  /** When the last job is expected to end at the present rate; null when nothing moves. */
  eta: Iso | null;
  /** Why its jobs failed, the most frequent first; at most 20 groups. */
  failures: WireRunFailure[];
  /** null unless it is paused. */
  paused: WireRunPause | null;
  /** Only if its lines come from a file, through the OpenAI API. */
  batch?: WireRunBatch;
}

/** The part of a run that makes it a batch. */
export interface WireRunBatch {
  status: BatchStatus;
  /** What its lines ask for: `/v1/chat/completions`. */
  endpoint: string;
  /** Requests in its file; null until it was read. */
  lines: number | null;
  /** What has not started by then does not start any more. */
  expires_at: Iso;
  input_file_id: string;
  /** null until they are written, and for a file without lines. */
  output_file_id: string | null;
  error_file_id: string | null;
  /** Why its file was refused; at most 100. */
  faults: { line: number | null; code: string; message: string }[];
}

/** A run in live events: without what may be long and never changes. */
export type WireLiveRun = Omit<WireRun, 'defaults' | 'output_schema'>;

export interface WireRunCounts {
  total: number;
  pending: number;
  running: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** Failed jobs with one cause. */
export interface WireRunFailure {
  class: ErrorClass;
  code: string;
  /** Of one of the jobs, cut to 300 characters. */
  message: string;
  count: number;
  /** One of the jobs. */
  job_id: string;
}

export interface WireRunPause {
  reason: 'max_cost' | 'max_failures' | 'deadline' | 'operator';
  /** One sentence, with what to do. */
  detail: string;
  at: Iso;
}

export interface WireRunList {
  /** Newest first. */
  runs: WireRun[];
  total: number;
  limit: number;
  offset: number;
}

/** The body of POST /api/runs. */
export interface RunBody {
  /** 1 to 100 characters: letters, digits and `._-`. */
  name: string;
  max_cost_usd?: number | null;
  max_failures?: number | null;
  /** ISO 8601. */
  deadline?: Iso | null;
  /** Fields for jobs that do not set them. */
  defaults?: DispatchBody;
  /** JSON Schema that answers must match. */
  output_schema?: boolean | Record<string, unknown> | null;
  /** 0 to 10; 2 by default. */
  output_retries?: number | null;
}

/** What the answers of a new run must be. */
export type OutputCheckBody = Pick<RunBody, 'output_schema' | 'output_retries'>;

/** The body of POST /api/runs/:name/resume: limits to replace. */
export type ResumeRunBody = Pick<RunBody, 'max_cost_usd' | 'max_failures' | 'deadline'>;

/** A job of a run; the run keeps one job for each `line_id`. */
export interface RunLineBody extends DispatchBody {
  /** 1 to 255 characters, unique in the run. */
  line_id: string;
}

/** The answer of POST /api/runs/:name/jobs. */
export interface WireRunJobs {
  /** Jobs that were new. */
  created: number;
  /** Lines that the run had already; nothing was sent for them. */
  known: number;
}

/** The answer of POST /api/runs/:name/retry. */
export interface WireRunRetry {
  retried: number;
  /** Failed jobs that are archived: they cannot be retried. */
  archived: number;
  run: WireRun;
}

/** The answer to one line. */
export interface WireRunResult {
  line_id: string;
  /** null when the run does not have the line. */
  job_id: string | null;
  status: JobStatus | null;
  output: string | null;
  /** Present when the model called tools. */
  tool_calls?: unknown[];
  finish_reason: string | null;
  error: { class: ErrorClass; code: string; message: string } | null;
  provider: string | null;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  cost_status: CostStatus | null;
  attempts: number;
  finished_at: Iso | null;
}
