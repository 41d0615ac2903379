import { createOpenAI } from '@ai-sdk/openai';
import type { WireUsage } from '../../domain/usage.ts';
import type { Assignment } from '../../domain/workerProtocol.ts';
import { type Fields, fieldsOf, isFields } from '../../lib/fields.ts';
import type { Provider } from '../provider.ts';
import { baseOf, openAiNames } from './models/modelList.ts';
import type { ProviderSettings } from './providerSettings.ts';
import { plainMessages } from './request/chatMessages.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  toolChoiceOf,
  toolsOf,
  without,
} from './request/params.ts';
import type { Dialect } from './sdk/dialect.ts';
import { openAiChatDialect } from './sdk/openAiChatDialect.ts';
import { sdkPrompt } from './sdk/sdkPrompt.ts';
import { type SdkProviderParts, sdkProvider } from './sdk/sdkProvider.ts';
import { countOf, tokenUsage } from './sdk/tokenUsage.ts';

const openAiBaseUrl = 'https://api.openai.com/v1';

/**
 * OpenAI: chat completions, or with `api: responses` the Responses API. `messages`, `params`, tools and the form of the
 * answer are OpenAI's own and go to chat completions as they are; for Responses they are put into its form.
 * Sources: https://platform.openai.com/docs/api-reference/chat, …/responses
 */
export function createOpenAi(settings: ProviderSettings): Provider {
  const baseUrl = baseOf(settings.baseUrl ?? openAiBaseUrl);
  const apiKey = settings.apiKey ?? '';
  const model = (api: 'chat' | 'responses', name: string) => (fetch: typeof globalThis.fetch) =>
    createOpenAI({ baseURL: baseUrl, apiKey, fetch })[api](name);
  const call: SdkProviderParts['call'] =
    settings.api === 'responses'
      ? (assignment, name) => ({ model: model('responses', name), ...responsesCall(assignment) })
      : (assignment, name) => ({ model: model('chat', name), ...chatCall(assignment) });
  return sdkProvider(settings, {
    kind: 'cloud',
    baseUrl,
    server: {
      lists: [{ url: `${baseUrl}/models`, names: openAiNames }],
      headers: apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` },
    },
    call,
  });
}

function chatCall(assignment: Assignment) {
  const params = providerParams(assignment.params);
  const messages = plainMessages(assignment);
  // The SDK knows which models take max_completion_tokens in its place.
  const { max_tokens: given, ...others } = params;
  const maxTokens = maxTokensOf({ max_tokens: given });
  return {
    options: { prompt: [], ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }) },
    amend: (body: object) => ({ ...body, messages, ...others }),
    dialect: openAiChatDialect('done'),
  };
}

const mappedKeys = [...maxTokensKeys, 'response_format', 'tools', 'tool_choice', 'reasoning_effort'];

function responsesCall(assignment: Assignment) {
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
      ...(effort === undefined ? {} : { reasoning: { ...fieldsOf(body.reasoning), effort } }),
      ...(tools.own.length === 0 ? {} : { tools: [...listOr(body.tools), ...tools.own] }),
      ...others,
    }),
    dialect: responsesDialect,
  };
}

function listOr(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const lastEvents = ['response.completed', 'response.incomplete'];

/** Responses: events with a `type`; the whole response stands in the first ones and in the last. */
const responsesDialect: Dialect = {
  hear: (event) => {
    const { type, response } = event;
    const isError = type === 'error' || type === 'response.failed';
    const whole = fieldsOf(response);
    return {
      ...(isError ? { error: event } : {}),
      usage: isFields(whole.usage) ? whole.usage : undefined,
      model: typeof whole.model === 'string' ? whole.model : undefined,
      isLast: typeof type === 'string' && lastEvents.includes(type),
    };
  },
  usageOf: openAiResponsesUsage,
  lastWord: 'reason',
};

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
