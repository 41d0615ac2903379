import type { Problem } from '../domain/wire/problem.ts';
import { settingAtFault } from '../lib/socketFailure.ts';

/** The coordinator refused. Made from its problem document. */
export class ApiError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Stable, for programs: `job_not_found`. `unexpected_answer` without a problem document. */
  readonly code: string;
  /** One sentence for people. */
  readonly detail: string;
  readonly errors: readonly { field: string; message: string }[];
  /** The job's status, when the refusal is about a job. */
  readonly jobStatus: string | null;
  /** For the coordinator's log; null when it sent none. */
  readonly requestId: string | null;
  /** The value of Retry-After; null without one. */
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    problem: Partial<Problem> & { detail: string },
    retryAfterSeconds: number | null = null,
  ) {
    super(problem.detail);
    this.name = 'ApiError';
    this.status = status;
    this.code = problem.code ?? 'unexpected_answer';
    this.detail = problem.detail;
    this.errors = problem.errors ?? [];
    this.jobStatus = problem.job_status ?? null;
    this.requestId = problem.request_id ?? null;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** There was no answer. The message says from where, why, and what to do. */
export class Unreachable extends Error {
  readonly url: string;

  /** @param why in words, or the system's code. */
  constructor(url: string, why: string, options: { cause?: unknown } = {}) {
    const advice = settingAtFault(why) ?? 'is the coordinator running? start it with svc coordinator';
    super(`cannot reach the coordinator at ${url} (${why}): ${advice}`, options);
    this.name = 'Unreachable';
    this.url = url;
  }
}

/** The job had not ended in time. It continues. */
export class WaitTimedOut extends Error {
  readonly jobId: string;

  constructor(jobId: string, seconds: number) {
    super(`job ${jobId} had not ended after ${seconds} s; it continues`);
    this.name = 'WaitTimedOut';
    this.jobId = jobId;
  }
}
