import type { ErrorClass, Failure } from '../../../domain/failure.ts';
import type { JobRecord, JobResult, ToolCall } from '../../../domain/job.ts';
import { statusOf } from '../../../domain/states.ts';
import type { Fields } from '../../../lib/fields.ts';
import { digitsOf, responseIdOf } from '../ids.ts';
import { keptPrefix } from '../request.ts';
import { metadataOf, servedModel, servedTier } from '../served.ts';
import { FunctionTools } from './tools.ts';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** What a model has said, done or thought. */
export type OutputItem = Fields & { id: string; type: string; status: ItemStatus };

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** The fields of the request, as the door has kept them. */
export function askedFields({ request }: JobRecord): Fields {
  return request.door?.fields ?? {};
}

export function isBackground(job: JobRecord): boolean {
  return askedFields(job).background === true;
}

/** Whether its stream can be read again: it was asked for as a stream in the background. */
export function isResumable(job: JobRecord): boolean {
  return isBackground(job) && askedFields(job).stream === true;
}

export function functionsOf(job: JobRecord): FunctionTools {
  return new FunctionTools(askedFields(job).tools);
}

/** Makes the items of one job's output, whose ids are the same whenever they are made. */
export class OutputItems {
  readonly #digits: string;
  readonly #functions: FunctionTools;

  constructor(job: JobRecord) {
    this.#digits = digitsOf(job.id);
    this.#functions = functionsOf(job);
  }

  get messageId(): string {
    return `msg_${this.#digits}_0`;
  }

  /** @param index of the call in the result. */
  callId(index: number): string {
    return `fc_${this.#digits}_${index}`;
  }

  reasoningId(index: number): string {
    return `rs_${this.#digits}_${index}`;
  }

  /** @param text null before there is any. */
  message(text: string | null, status: ItemStatus): OutputItem {
    const content = text === null ? [] : [textPart(text)];
    return { id: this.messageId, type: 'message', status, role: 'assistant', content };
  }

  call(index: number, { id, function: called }: ToolCall, status: ItemStatus): OutputItem {
    const named = { ...this.#functions.calledName(called.name), arguments: called.arguments };
    return { id: this.callId(index), type: 'function_call', status, call_id: id, ...named };
  }

  /** @param text null before there is any. */
  reasoning(index: number, text: string | null, status: ItemStatus): OutputItem {
    const summary = text === null ? [] : [summaryPart(text)];
    return { id: this.reasoningId(index), type: 'reasoning', status, summary };
  }
}

export function textPart(text: string): Fields {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

export function summaryPart(text: string): Fields {
  return { type: 'summary_text', text };
}

/** How the items of an output end. */
export function itemStatusOf(result: JobResult): ItemStatus {
  return incompleteReason(result) === null ? 'completed' : 'incomplete';
}

/** Why an answer is not whole, in OpenAI's words. */
function incompleteReason({ finishReason }: JobResult): string | null {
  if (finishReason === 'length') return 'max_output_tokens';
  return finishReason === 'content_filter' ? 'content_filter' : null;
}

/** Whether an answer has a message: one that only calls tools has none. */
export function hasMessage({ output, toolCalls = [] }: JobResult): boolean {
  return output !== '' || toolCalls.length === 0;
}

/** The output of a job that has its result. What the model has thought is not kept. */
function outputOf(job: JobRecord, result: JobResult): OutputItem[] {
  const items = new OutputItems(job);
  const status = itemStatusOf(result);
  return [
    ...(hasMessage(result) ? [items.message(result.output, status)] : []),
    ...(result.toolCalls ?? []).map((call, index) => items.call(index, call, 'completed')),
  ];
}

export function responseStatus({ state, life }: JobRecord): ResponseStatus {
  const status = statusOf(state);
  if (status === 'pending') return 'queued';
  if (status === 'running') return 'in_progress';
  if (status !== 'completed') return status;
  return life.result === null || incompleteReason(life.result) === null ? 'completed' : 'incomplete';
}

/** What differs from the job as it is. */
interface Shown {
  status?: ResponseStatus;
  output?: readonly OutputItem[];
}

/** A job as a response: https://platform.openai.com/docs/api-reference/responses/object */
export function responseOf(job: JobRecord, { status = responseStatus(job), output }: Shown = {}): Fields {
  const { result, finishedAt, error } = job.life;
  const asked = askedFields(job);
  const hasResult = result !== null && (status === 'completed' || status === 'incomplete');
  const hasEnded = status !== 'queued' && status !== 'in_progress';
  const reason = hasResult ? incompleteReason(result) : null;
  return {
    id: responseIdOf(job.id),
    object: 'response',
    created_at: Math.floor(job.createdAt / 1000),
    status,
    background: isBackground(job),
    completed_at: status === 'completed' && finishedAt !== null ? Math.floor(finishedAt / 1000) : null,
    error: status === 'failed' ? responseError(error) : null,
    incomplete_details: reason === null ? null : { reason },
    model: (hasEnded ? servedModel(job) : null) ?? asked.model ?? 'auto',
    output: output ?? (hasResult ? outputOf(job, result) : []),
    usage: hasResult ? usageOf(result) : null,
    service_tier: servedTier(job),
    metadata: metadataOf(job),
    ...askedOf(job),
  };
}

/** What the request said, with OpenAI's defaults where it said nothing. */
function askedOf(job: JobRecord): Fields {
  const asked = askedFields(job);
  const { metadata } = job.request;
  return {
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: null,
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    previous_response_id: asked.previous_response_id ?? null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: asked.reasoning ?? { effort: null, summary: null },
    safety_identifier: metadata[`${keptPrefix}safety_identifier`] ?? null,
    store: asked.store ?? true,
    temperature: asked.temperature ?? null,
    text: asked.text ?? { format: { type: 'text' } },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: asked.tools ?? [],
    top_logprobs: 0,
    top_p: asked.top_p ?? null,
    truncation: 'disabled',
    user: metadata[`${keptPrefix}user`] ?? null,
  };
}

function usageOf({ usage }: JobResult): Fields {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.totalTokens,
    // The provider did not report them. Not a field of OpenAI's.
    ...(usage.isPartial === true ? { unknown: true } : {}),
  };
}

/** OpenAI's codes, which agents go by; `server_error` for all others. */
const codes: Partial<Record<ErrorClass, string>> = {
  invalid_request: 'invalid_prompt',
  content_filtered: 'invalid_prompt',
  context_overflow: 'context_length_exceeded',
  rate_limited: 'rate_limit_exceeded',
  overloaded: 'rate_limit_exceeded',
  quota_exhausted: 'insufficient_quota',
};

function responseError(failure: Failure | null): Fields {
  const code = failure === null ? undefined : codes[failure.class];
  return { code: code ?? 'server_error', message: failure?.message ?? 'The job failed' };
}
