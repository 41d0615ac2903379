import type { JobView } from '../coordinator/coordinator.ts';
import type { Failure } from '../domain/failure.ts';
import {
  type Attempt,
  type JobCreator,
  type JobLife,
  type JobRequest,
  type JobResult,
  lastAttempt,
  type RouteStep,
} from '../domain/job.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { sumCosts, toDollars } from '../domain/money.ts';
import { statusOf } from '../domain/states.ts';
import { usageToWire } from '../domain/usage.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireAttempt, WireJob, WireJobResult, WireRouteStep, WireWholeJob } from '../domain/wire/job.ts';
import { messageLengthMax } from '../domain/workerProtocol.ts';
import { excerptOf, isLong, shortened, shortenedMessages } from './shortened.ts';

/** Parts of a job that lists omit or shorten by default. */
export type Included = ReadonlySet<'request' | 'input' | 'result'>;

const nothing: Included = new Set();

/** The last routing steps and attempts in lists. */
const stepsMax = 10;

/** The request and its results: lists show less of them. */
type RequestPart = Pick<
  WireJob,
  | 'prompt'
  | 'prompt_truncated'
  | 'input'
  | 'input_truncated'
  | 'messages'
  | 'messages_truncated'
  | 'tags'
  | 'tags_truncated'
  | 'params'
  | 'params_truncated'
  | 'metadata'
  | 'metadata_truncated'
>;
type CoursePart = Pick<
  WireJob,
  'route' | 'route_truncated' | 'attempts' | 'attempts_truncated' | 'result' | 'error' | 'error_truncated'
>;

/** A whole job for the API. */
export function presentJob(view: JobView): WireWholeJob {
  const { life, request } = view.job;
  return present(view, wholeRequest(request), {
    route: life.route.map(presentStep),
    attempts: life.attempts.map(presentAttempt),
    result: presentResult(life.result),
    error: shownFailure(life.error),
  });
}

/**
 * A job for lists and live events: without its result, and with all long fields cut, usually to some 2 KB and at most
 * some 30,000 characters. Cut fields are marked.
 * @param include `request` for the whole request, `input` for the start of the input, `result` for the whole result.
 */
export function presentListed(view: JobView, include = nothing): WireJob {
  const { life, request } = view.job;
  const shown = include.has('request')
    ? { ...wholeRequest(request), prompt_truncated: false, input_truncated: false }
    : shortRequest(request, include.has('input'));
  return present(view, shown, {
    ...shortCourse(life),
    ...(include.has('result') ? { result: presentResult(life.result) } : {}),
  });
}

function present<A extends RequestPart, C extends CoursePart>(
  { job, waiting, heartbeatAt }: JobView,
  asked: A,
  course: C,
): Omit<WireWholeJob, keyof RequestPart | keyof CoursePart> & A & C {
  const { request, life } = job;
  const status = statusOf(job.state);
  const cost = sumCosts(life.attempts.map((attempt) => attempt.cost));
  return {
    id: job.id,
    status,
    ...asked,
    provider: request.provider,
    model: request.model,
    priority: request.priority,
    tier: request.tier,
    ...(request.webhook === undefined ? {} : { webhook: request.webhook }),
    run: job.run === undefined ? null : { name: job.run.name, line_id: job.run.lineId },
    created_at: iso(job.createdAt),
    created_by: presentCreator(job.createdBy),
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
    ...course,
  };
}

function presentCreator(creator: JobCreator | null): WireJob['created_by'] {
  return creator === null ? null : { key_id: creator.keyId, name: creator.name };
}

function wholeRequest({ prompt, input, messages, tags, params, metadata }: JobRequest) {
  return { prompt, input, messages, tags, params, metadata };
}

function shortRequest(request: JobRequest, hasInput: boolean): RequestPart {
  const { prompt, input } = request;
  const messages = shortenedMessages(request.messages);
  const tags = shortened(request.tags);
  const params = shortened(request.params);
  const metadata = shortened(request.metadata);
  return {
    prompt: prompt === null ? null : excerptOf(prompt),
    prompt_truncated: prompt !== null && isLong(prompt),
    ...(hasInput
      ? {
          input: input === null ? null : excerptOf(input),
          input_truncated: input !== null && isLong(input),
        }
      : {}),
    messages,
    ...(messages === request.messages ? {} : { messages_truncated: true }),
    tags,
    ...(tags === request.tags ? {} : { tags_truncated: true }),
    params,
    ...(params === request.params ? {} : { params_truncated: true }),
    metadata,
    ...(metadata === request.metadata ? {} : { metadata_truncated: true }),
  };
}

function shortCourse({ route, attempts, error }: JobLife): CoursePart {
  const isLongStep = route.length > stepsMax || route.some(({ why }) => isLong(why));
  const isLongAttempt = attempts.length > stepsMax || attempts.some((one) => isLongFailure(one.error));
  return {
    route: route.slice(-stepsMax).map((step) => presentStep({ ...step, why: excerptOf(step.why) })),
    ...(isLongStep ? { route_truncated: true } : {}),
    attempts: attempts
      .slice(-stepsMax)
      .map((attempt) => presentAttempt({ ...attempt, error: shortFailure(attempt.error) })),
    ...(isLongAttempt ? { attempts_truncated: true } : {}),
    error: shortFailure(error),
    ...(isLongFailure(error) ? { error_truncated: true } : {}),
  };
}

function isLongFailure(failure: Failure | null): boolean {
  return failure !== null && isLong(failure.message);
}

function shortFailure(failure: Failure | null): Failure | null {
  const shown = shownFailure(failure);
  return shown === null ? null : { ...shown, message: excerptOf(shown.message) };
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
    model: shownModel(attempt.model),
    started_at: iso(attempt.startedAt),
    finished_at: iso(attempt.finishedAt),
    outcome: attempt.outcome,
    error: shownFailure(attempt.error),
    usage: attempt.usage === null ? null : usageToWire(attempt.usage),
    ...(attempt.usage?.isImplausible === true ? { usage_implausible: true } : {}),
    cost_usd: toDollars(attempt.cost.nanoDollars),
    cost_status: attempt.cost.status,
  };
}

/* Earlier versions stored a worker's texts at any length. Nothing written today is cut here. */

/** Characters of a message that was cut on arrival, with the words that say so. */
const shownMessageMax = messageLengthMax + 100;

function shownFailure(failure: Failure | null): Failure | null {
  if (failure === null) return null;
  const { code, message } = failure;
  if (message.length <= shownMessageMax && code.length <= nameLengthMax) return failure;
  return { ...failure, code: code.slice(0, nameLengthMax), message: message.slice(0, shownMessageMax) };
}

function shownModel(model: string | null): string | null {
  return model === null ? null : model.slice(0, nameLengthMax);
}

function presentResult(result: JobResult | null): WireJobResult | null {
  if (result === null) return null;
  return {
    output: result.output,
    ...(result.toolCalls === undefined ? {} : { tool_calls: result.toolCalls }),
    finish_reason: result.finishReason,
    provider: result.provider,
    model: shownModel(result.model),
    worker_id: result.workerId,
    usage: usageToWire(result.usage),
    ...(result.rawUsage === undefined ? {} : { raw_usage: result.rawUsage }),
    latency_ms: result.latencyMs,
    first_token_ms: result.firstTokenMs,
  };
}
