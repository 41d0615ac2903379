import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { ToolCall } from '../../../domain/job.ts';
import type { WireUsage } from '../../../domain/usage.ts';
import type { Assignment } from '../../../domain/workerProtocol.ts';
import { type Fields, fieldsOf, isFields } from '../../../lib/fields.ts';
import { own } from '../../../lib/own.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  toolChoiceOf,
  toolsOf,
  without,
} from '../request/params.ts';
import type { Dialect } from './dialect.ts';
import { sdkPrompt } from './sdkPrompt.ts';
import { countOf, tokenUsage } from './tokenUsage.ts';

const mappedKeys = [...maxTokensKeys, 'response_format', 'tools', 'tool_choice', 'reasoning_effort'];

/** The request of a job to OpenAI's Responses API, or a compatible server. @throws RequestError. */
export function responsesCall(assignment: Assignment) {
  const params = providerParams(assignment.params);
  const tools = toolsOf(params);
  const toolChoice = toolChoiceOf(params);
  const maxTokens = maxTokensOf(params);
  const format = responseFormatOf(params);
  const { reasoning_effort: effort } = params;
  const others = without(params, mappedKeys);
  return {
    options: {
      prompt: sdkPrompt(assignment),
      ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
      ...(format === undefined ? {} : { responseFormat: format }),
      ...(tools.functions.length === 0 ? {} : { tools: tools.functions }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
    },
    amend: (body: Readonly<Record<string, unknown>>) => ({
      ...body,
      input: listOr(body.input).map(withType),
      ...(effort === undefined ? {} : { reasoning: { ...fieldsOf(body.reasoning), effort } }),
      ...(tools.own.length === 0 ? {} : { tools: [...listOr(body.tools), ...tools.own] }),
      ...others,
    }),
    dialect: responsesDialect,
  };
}

/** llama-server requires the type of a message: "Cannot determine type of 'item'". */
function withType(item: unknown): unknown {
  return isFields(item) && item.type === undefined && item.role !== undefined
    ? { type: 'message', ...item }
    : item;
}

function listOr(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const lastEvents = ['response.completed', 'response.incomplete'];
/** The events of an answer; what the SDK makes of others does not matter. */
const neededEvents = [
  ...lastEvents,
  'response.failed',
  'response.output_text.delta',
  'response.refusal.delta',
  'error',
];

/**
 * Responses: events with a `type`; the first ones and the last contain the whole response. llama-server ends a failing
 * stream with an error without a type, and most of its events lack fields that the SDK requires
 * (https://github.com/ggml-org/llama.cpp/issues/20607): tool calls are taken from the whole response.
 */
const responsesDialect: Dialect = {
  hear: (event) => {
    const { type, response } = event;
    const isError = type === 'error' || type === 'response.failed' || isFields(event.error);
    const whole = fieldsOf(response);
    const isLast = typeof type === 'string' && lastEvents.includes(type);
    return {
      ...(isLast ? { finish: finishOf(fieldsOf(whole.incomplete_details).reason) } : {}),
      toolCalls: toolCallsIn(whole.output),
      ...(isError ? { error: event } : {}),
      usage: isFields(whole.usage) ? whole.usage : undefined,
      model: typeof whole.model === 'string' ? whole.model : undefined,
      // Of models that show what they think, not a summary of it; the SDK knows only summaries.
      ...(type === 'response.reasoning_text.delta' && typeof event.delta === 'string'
        ? { reasoning: event.delta }
        : {}),
      isProgress: typeof type === 'string' && type.endsWith('.delta'),
      isUnknown: typeof type === 'string' && !neededEvents.includes(type),
      isLast,
    };
  },
  usageOf: openAiResponsesUsage,
  lastWord: 'reason',
};

function finishOf(reason: unknown): LanguageModelV4FinishReason {
  if (typeof reason !== 'string') return { unified: 'stop', raw: undefined };
  const reasons = { max_output_tokens: 'length', content_filter: 'content-filter' } as const;
  return { unified: own(reasons, reason) ?? 'other', raw: reason };
}

function toolCallsIn(output: unknown): ToolCall[] {
  return listOr(output).flatMap((item) => {
    if (!isFields(item) || item.type !== 'function_call' || typeof item.name !== 'string') return [];
    const { call_id: id, name, arguments: given } = item;
    const called = { name, arguments: typeof given === 'string' ? given : '{}' };
    return [{ id: typeof id === 'string' ? id : name, type: 'function', function: called }];
  });
}

/** Source: https://platform.openai.com/docs/api-reference/responses/object */
export function openAiResponsesUsage(raw: Fields): Partial<WireUsage> {
  const details = fieldsOf(raw.input_tokens_details);
  return tokenUsage({
    input: countOf(raw.input_tokens),
    cached: countOf(details.cached_tokens),
    written: countOf(details.cache_write_tokens),
    output: countOf(raw.output_tokens),
    reasoning: countOf(fieldsOf(raw.output_tokens_details).reasoning_tokens),
  });
}
