import type { RunView } from '../coordinator/runs/index.ts';
import type { JobRecord } from '../domain/job.ts';
import { sumCosts, toDollars } from '../domain/money.ts';
import { jobsOf, type RunRecord, unqueuedLines } from '../domain/run.ts';
import { statusOf } from '../domain/states.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireLiveRun, WireRun, WireRunBatch, WireRunResult } from '../domain/wire/run.ts';

/** A run for the API. @param now epoch ms. */
export function presentRun({ run, ratePerMinute }: RunView, now: number): WireRun {
  const { totals, life, state } = run;
  const { running, completed, failed, cancelled } = totals;
  // Lines of a batch wait, whether they are in the queue yet or not.
  const unqueued = unqueuedLines(run);
  const pending = totals.pending + unqueued;
  const total = jobsOf(totals) + unqueued;
  const open = pending + running;
  const ended = completed + failed;
  const meanCost = ended === 0 ? null : totals.nanoDollars / ended;
  const isMoving = ratePerMinute > 0 && open > 0 && state === 'running';
  return {
    id: run.id,
    name: run.name,
    status: state,
    created_at: iso(run.createdAt),
    created_by: run.createdBy === null ? null : { key_id: run.createdBy.keyId, name: run.createdBy.name },
    finished_at: iso(life.finishedAt),
    max_cost_usd: toDollars(life.limits.maxCost),
    max_failures: life.limits.maxFailures,
    deadline: iso(life.limits.deadline),
    defaults: run.defaults,
    output_schema: run.check?.schema ?? null,
    output_retries: run.check?.retries ?? null,
    counts: { total, pending, running, completed, failed, cancelled },
    cost_usd: totals.nanoDollars / 1e9,
    cost_reserved_usd: (totals.reserved + totals.assumed) / 1e9,
    cost_expected_usd: meanCost === null ? null : (totals.nanoDollars + meanCost * open) / 1e9,
    unknown_cost_attempts: totals.unknown,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    rate_per_minute: Math.round(ratePerMinute * 10) / 10,
    eta: isMoving ? iso(Math.round(now + (open / ratePerMinute) * 60_000)) : null,
    failures: [...totals.failures]
      .sort((a, b) => b.count - a.count)
      .map(({ class: errorClass, code, message, count, jobId }) => {
        return { class: errorClass, code, message, count, job_id: jobId };
      }),
    paused:
      life.pause === null
        ? null
        : { reason: life.pause.reason, detail: life.pause.detail, at: iso(life.pause.at) },
    ...(run.batch === undefined ? {} : { batch: presentBatch(run.batch) }),
  };
}

function presentBatch({ request, state, life }: NonNullable<RunRecord['batch']>): WireRunBatch {
  return {
    status: state,
    endpoint: request.endpoint,
    lines: life.lines,
    expires_at: iso(request.expiresAt),
    input_file_id: request.inputFileId,
    output_file_id: life.result?.outputFileId ?? null,
    error_file_id: life.result?.errorFileId ?? null,
    faults: life.faults.map(({ line, code, message }) => ({ line, code, message })),
  };
}

/** A run for live events. @param now epoch ms. */
export function presentLiveRun(view: RunView, now: number): WireLiveRun {
  const { defaults: _d, output_schema: _s, ...run } = presentRun(view, now);
  return run;
}

/** The answer to a line. @param job undefined when the run does not have the line. */
export function presentRunResult(lineId: string, job: JobRecord | undefined): WireRunResult {
  if (job === undefined) return { line_id: lineId, ...noAnswer };
  const { life } = job;
  const { result, error, attempts } = life;
  const used = attempts.flatMap(({ usage }) =>
    usage === null || usage.isImplausible === true ? [] : [usage],
  );
  const sum = (of: 'inputTokens' | 'outputTokens'): number | null =>
    used.length === 0 ? null : used.reduce((total, usage) => total + usage[of], 0);
  const last = attempts[attempts.length - 1];
  const cost = sumCosts(attempts.map((attempt) => attempt.cost));
  return {
    line_id: lineId,
    job_id: job.id,
    status: statusOf(job.state),
    output: result?.output ?? null,
    ...(result?.toolCalls === undefined ? {} : { tool_calls: result.toolCalls }),
    finish_reason: result?.finishReason ?? null,
    error: error === null ? null : { class: error.class, code: error.code, message: error.message },
    provider: result?.provider ?? last?.provider ?? null,
    model: result?.model ?? last?.model ?? null,
    input_tokens: sum('inputTokens'),
    output_tokens: sum('outputTokens'),
    cost_usd: toDollars(cost.nanoDollars),
    cost_status: cost.status,
    attempts: attempts.filter(({ outcome }) => outcome !== 'released').length,
    finished_at: iso(life.finishedAt),
  };
}

const noAnswer: Omit<WireRunResult, 'line_id'> = {
  job_id: null,
  status: null,
  output: null,
  finish_reason: null,
  error: null,
  provider: null,
  model: null,
  input_tokens: null,
  output_tokens: null,
  cost_usd: null,
  cost_status: null,
  attempts: 0,
  finished_at: null,
};
