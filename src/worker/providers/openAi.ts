import { createOpenAI } from '@ai-sdk/openai';
import type { Assignment } from '../../domain/workerProtocol.ts';
import type { Provider } from '../provider.ts';
import { plainMessages } from './chatMessages.ts';
import { isFields } from './fields.ts';
import type { ProviderSetup } from './index.ts';
import { baseOf, openAiNames } from './modelList.ts';
import { openAiChatDialect, openAiResponsesDialect } from './openAiDialects.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  toolChoiceOf,
  toolsOf,
  without,
} from './params.ts';
import { sdkPrompt } from './sdkPrompt.ts';
import { type SdkProviderParts, sdkProvider } from './sdkProvider.ts';

const openAiBaseUrl = 'https://api.openai.com/v1';

/**
 * OpenAI: chat completions, or with `api: responses` the Responses API. `messages`, `params`, tools and the form of the
 * answer are OpenAI's own and go to chat completions as they are; for Responses they are put into its form.
 * Sources: https://platform.openai.com/docs/api-reference/chat, …/responses
 */
export function createOpenAi(setup: ProviderSetup): Provider {
  const baseUrl = baseOf(setup.baseUrl ?? openAiBaseUrl);
  const apiKey = setup.apiKey ?? '';
  const model = (api: 'chat' | 'responses', name: string) => (fetch: typeof globalThis.fetch) =>
    createOpenAI({ baseURL: baseUrl, apiKey, fetch })[api](name);
  const call: SdkProviderParts['call'] =
    setup.api === 'responses'
      ? (assignment, name) => ({ model: model('responses', name), ...responsesCall(assignment) })
      : (assignment, name) => ({ model: model('chat', name), ...chatCall(assignment) });
  return sdkProvider(setup, {
    kind: 'cloud',
    baseUrl,
    server: {
      lists: [{ url: `${baseUrl}/models`, names: openAiNames }],
      headers: apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` },
      advice: {
        start: 'Is this machine online',
        address: `Is it elsewhere, say so with providers.${setup.name}.base_url`,
      },
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
      ...(effort === undefined ? {} : { reasoning: { ...fieldsOr(body.reasoning), effort } }),
      ...(tools.own.length === 0 ? {} : { tools: [...listOr(body.tools), ...tools.own] }),
      ...others,
    }),
    dialect: openAiResponsesDialect,
  };
}

function fieldsOr(value: unknown): object {
  return isFields(value) ? value : {};
}

function listOr(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
