import type { BatchRun } from '../../../coordinator/batches/index.ts';
import type { BatchStatus } from '../../../domain/states.ts';
import { presentRun } from '../../../present/run.ts';
import { batchIdOf, fileIdOf } from '../ids.ts';

/** A batch as OpenAI shows it, with more in `svc`. Times are epoch seconds. */
export interface WireBatch {
  id: string;
  object: 'batch';
  endpoint: string;
  errors: { object: 'list'; data: WireFault[] } | null;
  input_file_id: string;
  completion_window: string;
  status: string;
  output_file_id: string | null;
  error_file_id: string | null;
  created_at: number;
  in_progress_at: number | null;
  expires_at: number;
  finalizing_at: number | null;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelling_at: number | null;
  cancelled_at: number | null;
  request_counts: { total: number; completed: number; failed: number };
  usage: WireBatchUsage | null;
  metadata: Record<string, string> | null;
  svc: WireBatchFacts;
}

interface WireFault {
  code: string;
  message: string;
  param: string | null;
  line: number | null;
}

export interface WireBatchUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** What OpenAI does not report. */
export interface WireBatchFacts {
  /** The run of its jobs, in the native API and on the dashboard. */
  run: string;
  /** Lines that wait, also those that are not in the queue yet. */
  pending: number;
  running: number;
  cost_usd: number;
  /** What it will have cost at its end, from the mean of what has ended. */
  cost_expected_usd: number | null;
  max_cost_usd: number | null;
  max_failures: number | null;
  /** When it ends at the rate of the last minute, ISO 8601. */
  expected_end: string | null;
  /** Why none of its lines starts. */
  paused: { reason: string; detail: string } | null;
}

/** A batch for its clients. @param ratePerMinute jobs that ended in the last minute. @param now epoch ms. */
export function batchOf(run: BatchRun, ratePerMinute: number, now: number): WireBatch {
  const { request, state, life } = run.batch;
  const finishedAs = (status: BatchStatus) => (state === status ? secondsOf(life.finishedAt) : null);
  const { faults, result } = life;
  return {
    id: batchIdOf(run.id),
    object: 'batch',
    endpoint: request.endpoint,
    errors:
      faults.length === 0
        ? null
        : {
            object: 'list',
            data: faults.map(({ code, message, param, line }) => ({ code, message, param, line })),
          },
    input_file_id: fileIdOf(request.inputFileId),
    completion_window: request.window,
    // To OpenAI's clients it goes on until it has expired.
    status: state === 'expiring' ? 'in_progress' : state,
    output_file_id: shownFile(result?.outputFileId),
    error_file_id: shownFile(result?.errorFileId),
    created_at: Math.floor(run.createdAt / 1000),
    in_progress_at: secondsOf(life.startedAt),
    expires_at: Math.floor(request.expiresAt / 1000),
    finalizing_at: secondsOf(life.finalizingAt),
    completed_at: finishedAs('completed'),
    failed_at: finishedAs('failed'),
    expired_at: finishedAs('expired'),
    cancelling_at: secondsOf(life.cancellingAt),
    cancelled_at: finishedAs('cancelled'),
    request_counts: countsOf(run),
    usage: usageOf(run),
    metadata: Object.keys(request.metadata).length === 0 ? null : request.metadata,
    svc: factsOf(run, ratePerMinute, now),
  };
}

/** Frozen with the files; until then those of its jobs. */
function countsOf({ totals, batch: { life } }: BatchRun): WireBatch['request_counts'] {
  const { completed, failed } = life.result ?? totals;
  return { total: life.lines ?? 0, completed, failed };
}

function usageOf({ batch: { life } }: BatchRun): WireBatchUsage | null {
  if (life.result === null) return null;
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = life.result;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function factsOf(run: BatchRun, ratePerMinute: number, now: number): WireBatchFacts {
  const shown = presentRun({ run, ratePerMinute }, now);
  const { result } = run.batch.life;
  const spent = result === null ? shown.cost_usd : result.nanoDollars / 1e9;
  return {
    run: run.name,
    pending: shown.counts.pending,
    running: shown.counts.running,
    cost_usd: spent,
    cost_expected_usd: result === null ? shown.cost_expected_usd : spent,
    max_cost_usd: shown.max_cost_usd,
    max_failures: shown.max_failures,
    expected_end: shown.eta,
    paused: shown.paused === null ? null : { reason: shown.paused.reason, detail: shown.paused.detail },
  };
}

function secondsOf(at: number | null): number | null {
  return at === null ? null : Math.floor(at / 1000);
}

function shownFile(id: string | null | undefined): string | null {
  return id === null || id === undefined ? null : fileIdOf(id);
}
