import type { JobView } from '../coordinator/coordinator.ts';
import { type Attempt, type JobResult, lastAttempt, type RouteStep } from '../domain/job.ts';
import { sumCosts, toDollars } from '../domain/money.ts';
import { statusOf } from '../domain/states.ts';
import { usageToWire } from '../domain/usage.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireAttempt, WireJob, WireJobResult, WireRouteStep } from '../domain/wire/job.ts';

/** Parts of a job that lists leave out unless they are asked for. */
export type Included = ReadonlySet<'input' | 'result'>;

const everything: Included = new Set(['input', 'result']);
const nothing: Included = new Set();

/** A job as the API shows it, whole. */
export function presentJob(view: JobView): WireJob {
  return presentListed(view, everything);
}

/** A job as lists show it: without input and result, unless they are asked for. */
export function presentListed({ job, waiting, heartbeatAt }: JobView, include = nothing): WireJob {
  const { request, life } = job;
  const status = statusOf(job.state);
  const cost = sumCosts(life.attempts.map((attempt) => attempt.cost));
  return {
    id: job.id,
    status,
    prompt: request.prompt,
    ...(include.has('input') ? { input: request.input } : {}),
    messages: request.messages,
    provider: request.provider,
    model: request.model,
    priority: request.priority,
    tier: request.tier,
    tags: request.tags,
    params: request.params,
    metadata: request.metadata,
    created_at: iso(job.createdAt),
    updated_at: iso(life.updatedAt),
    started_at: iso(life.startedAt),
    finished_at: iso(life.finishedAt),
    not_before: iso(request.notBefore),
    enqueued_at: iso(life.enqueuedAt),
    timeout_seconds: request.timeoutSeconds,
    worker_id: status === 'pending' ? null : (lastAttempt(life)?.workerId ?? null),
    heartbeat_at: iso(heartbeatAt),
    stuck: job.state === 'running.stuck',
    attempt_count: life.attempts.filter(({ outcome }) => outcome !== 'released').length,
    retry_count: life.retryCount,
    reap_count: life.reapCount,
    cost_usd: toDollars(cost.nanoDollars),
    cost_status: cost.status,
    waiting: waiting === null ? null : { ...waiting, until: iso(waiting.until) },
    route: life.route.map(presentStep),
    attempts: life.attempts.map(presentAttempt),
    ...(include.has('result') ? { result: life.result === null ? null : presentResult(life.result) } : {}),
    error: life.error,
  };
}

function presentStep({ provider, model, workerId, outcome, why, at }: RouteStep): WireRouteStep {
  return { provider, model, worker_id: workerId, outcome, why, at: iso(at) };
}

function presentAttempt(attempt: Attempt): WireAttempt {
  return {
    number: attempt.number,
    lease: attempt.lease,
    worker_id: attempt.workerId,
    provider: attempt.provider,
    model: attempt.model,
    started_at: iso(attempt.startedAt),
    finished_at: iso(attempt.finishedAt),
    outcome: attempt.outcome,
    error: attempt.error,
    usage: attempt.usage === null ? null : usageToWire(attempt.usage),
    cost_usd: toDollars(attempt.cost.nanoDollars),
    cost_status: attempt.cost.status,
  };
}

function presentResult(result: JobResult): WireJobResult {
  return {
    output: result.output,
    ...(result.toolCalls === undefined ? {} : { tool_calls: result.toolCalls }),
    finish_reason: result.finishReason,
    provider: result.provider,
    model: result.model,
    worker_id: result.workerId,
    usage: usageToWire(result.usage),
    ...(result.rawUsage === undefined ? {} : { raw_usage: result.rawUsage }),
    latency_ms: result.latencyMs,
    first_token_ms: result.firstTokenMs,
  };
}
