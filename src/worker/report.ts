import type { ErrorClass } from '../domain/failure.ts';
import {
  type AbortedFrame,
  type CompleteFrame,
  type FailFrame,
  frameBytesMax,
  outputBytesMax,
  outputTexts,
  type ReleaseFrame,
  type WireFailure,
  type WireLease,
} from '../domain/workerProtocol.ts';
import { isLargerThan } from '../lib/utf8.ts';
import { cleanFailure, cleanModel, cleanResult, cleanUsage } from './clean.ts';
import type { OutboxEntry } from './outbox.ts';
import type { FailedOutcome, ProviderResult, RunOutcome } from './provider.ts';
import type { Run } from './run.ts';

export type Ending = 'completed' | 'failed' | 'aborted' | 'released';

/** The report about an ended run to the coordinator. */
export interface RunReport {
  ending: Ending;
  /** Of a failure. */
  errorClass: ErrorClass | null;
  entry: OutboxEntry;
}

/**
 * Turn the end of a run into its frame. A whole answer is delivered even when the run was stopped in the same moment:
 * it is paid for, and the coordinator decides whether it still counts.
 * @param latencyMs from the assignment to the end. @param firstTokenMs null: nothing was streamed.
 */
export function reportOf(
  run: Run,
  outcome: RunOutcome,
  latencyMs: number,
  firstTokenMs: number | null,
): RunReport {
  const { job_id, lease } = run.assignment;
  const of: WireLease = { job_id, lease };
  if (outcome.ok) return completed(of, cleanResult(outcome.result), latencyMs, firstTokenMs);
  const reported = { ...outcome, begun: outcome.begun === true || run.hasBegun };
  if (!run.stopped) return failed(of, reported);
  switch (run.stopped.reason) {
    case 'deadline':
      return failed(of, { ...reported, error: overdue(run.assignment.timeout_seconds) });
    case 'given back':
      return released(of, reported);
    default:
      return {
        ending: 'aborted',
        errorClass: null,
        entry: { ...entry(of, abortedJson(of, reported)), isUsageOnly: true },
      };
  }
}

/** The worker itself, or an adapter, is at fault: class `unknown`, so that another provider is tried. */
export function workerFault(message: string): FailedOutcome {
  return { ok: false, error: { class: 'unknown', code: 'worker_error', message } };
}

/** Release a lease that was never started. */
/** A job that was stopped before it was started: it has used nothing. */
export function abortOf({ job_id, lease }: WireLease): RunReport {
  const json = JSON.stringify({ type: 'aborted', job_id, lease } satisfies AbortedFrame);
  return { ending: 'aborted', errorClass: null, entry: entry({ job_id, lease }, json) };
}

export function releaseOf(of: WireLease): RunReport {
  return released({ job_id: of.job_id, lease: of.lease }, null);
}

function completed(
  of: WireLease,
  result: ProviderResult,
  latencyMs: number,
  firstTokenMs: number | null,
): RunReport {
  const frame: CompleteFrame = {
    type: 'complete',
    ...of,
    result: { ...result, latency_ms: latencyMs, first_token_ms: firstTokenMs ?? undefined },
  };
  const json = isLargerThan(outputBytesMax, outputTexts(result.output, result.tool_calls))
    ? tooLarge
    : serialise(frame);
  if (typeof json === 'string') return { ending: 'completed', errorClass: null, entry: entry(of, json) };
  return failed(of, { ok: false, error: json, usage: result.usage, model: result.model, begun: true });
}

function failed(of: WireLease, { error: failure, usage, begun, model }: FailedOutcome): RunReport {
  const error = cleanFailure(failure);
  const frame: FailFrame = {
    type: 'fail',
    ...of,
    error,
    usage: cleanUsage(usage),
    begun: begun === true ? true : undefined,
    model: cleanModel(model),
  };
  return { ending: 'failed', errorClass: error.class, entry: entry(of, JSON.stringify(frame)) };
}

/** @param outcome of the released run; null: it never started, and the provider got no request. */
function released(of: WireLease, outcome: FailedOutcome | null): RunReport {
  const frame: ReleaseFrame = { type: 'release', ...of, begun: outcome === null ? undefined : true };
  const isCharged = outcome !== null && cleanUsage(outcome.usage) !== undefined;
  return {
    ending: 'released',
    errorClass: null,
    entry: {
      ...entry(of, JSON.stringify(frame)),
      afterwards: isCharged ? abortedJson(of, outcome) : null,
    },
  };
}

function abortedJson(of: WireLease, { usage, model }: FailedOutcome): string {
  const frame: AbortedFrame = {
    type: 'aborted',
    ...of,
    usage: cleanUsage(usage),
    model: cleanModel(model),
  };
  return JSON.stringify(frame);
}

function entry(of: WireLease, json: string): OutboxEntry {
  return { ...of, json, afterwards: null, isUsageOnly: false };
}

const tooLarge: WireFailure = {
  class: 'invalid_request',
  code: 'result_too_large',
  message: `The output is larger than the ${outputBytesMax / 1024 / 1024} MiB that the output of a job may have, or its frame than ${frameBytesMax / 1024 / 1024} MiB; ask for less of it, for instance with max_tokens`,
};

function serialise(frame: CompleteFrame): string | WireFailure {
  const json = JSON.stringify(frame);
  return isLargerThan(frameBytesMax, [json]) ? tooLarge : json;
}

function overdue(timeoutSeconds: number): WireFailure {
  return {
    class: 'timeout',
    code: 'job_timeout',
    message: `The job ran longer than its timeout of ${timeoutSeconds} s and was stopped by its worker`,
  };
}
