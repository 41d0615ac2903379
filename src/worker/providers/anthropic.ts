import { createAnthropic } from '@ai-sdk/anthropic';
import type { Assignment } from '../../domain/workerProtocol.ts';
import type { Provider } from '../provider.ts';
import { RequestError } from './chatMessages.ts';
import { type Fields, isFields } from './fields.ts';
import type { ProviderSetup } from './index.ts';
import { baseOf, openAiNames } from './modelList.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  stopOf,
  toolChoiceOf,
  toolsOf,
  without,
} from './params.ts';
import { sdkPrompt } from './sdkPrompt.ts';
import { sdkProvider } from './sdkProvider.ts';
import type { Dialect } from './sdkRun.ts';
import { anthropicUsage } from './tokenUsage.ts';

const anthropicBaseUrl = 'https://api.anthropic.com/v1';
/** https://docs.claude.com/en/api/versioning */
const apiVersion = '2023-06-01';

/**
 * Anthropic's Messages API. Parameters that OpenAI and Anthropic call differently are translated (`stop`, `tools`,
 * `response_format`, `max_completion_tokens`); all others go as they are, and Anthropic refuses by name those that it does
 * not know. It wants `max_tokens`: left out, it is the most that the model can give (4096 for a model that the SDK does
 * not know). Source: https://docs.claude.com/en/api/messages
 */
export function createAnthropicProvider(setup: ProviderSetup): Provider {
  const baseUrl = baseOf(setup.baseUrl ?? anthropicBaseUrl);
  const apiKey = setup.apiKey ?? '';
  return sdkProvider(setup, {
    kind: 'cloud',
    baseUrl,
    server: {
      lists: [{ url: `${baseUrl}/models?limit=1000`, names: openAiNames }],
      headers: { ...(apiKey === '' ? {} : { 'x-api-key': apiKey }), 'anthropic-version': apiVersion },
      advice: {
        start: 'Is this machine online',
        address: `Is it elsewhere, say so with providers.${setup.name}.base_url`,
      },
    },
    call: (assignment, name) => ({
      model: (fetch) => createAnthropic({ baseURL: baseUrl, apiKey, fetch })(name),
      ...messagesCall(assignment),
    }),
  });
}

const mappedKeys = [...maxTokensKeys, 'stop', 'response_format', 'tools', 'tool_choice'];

function messagesCall(assignment: Assignment) {
  const params = providerParams(assignment.params);
  const tools = toolsOf(params);
  const ownChoice = isFields(params.tool_choice) && params.tool_choice.type !== 'function';
  const toolChoice = ownChoice ? undefined : toolChoiceOf(params);
  const maxTokens = maxTokensOf(params);
  const stop = stopOf(params);
  const format = responseFormatOf(params);
  if (format?.type === 'json' && format.schema === undefined) {
    throw new RequestError(
      'params.response_format json_object is not taken by anthropic: give a json_schema, or ask for JSON in the prompt',
    );
  }
  const others = without(params, mappedKeys);
  return {
    options: {
      prompt: sdkPrompt(assignment),
      ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
      ...(format === undefined ? {} : { responseFormat: format }),
      ...(tools.functions.length === 0 ? {} : { tools: tools.functions }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
    },
    amend: (body: Fields) => ({
      ...body,
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      ...(stop === undefined ? {} : { stop_sequences: stop }),
      ...(tools.own.length === 0
        ? {}
        : { tools: [...(Array.isArray(body.tools) ? body.tools : []), ...tools.own] }),
      ...(ownChoice ? { tool_choice: params.tool_choice } : {}),
      ...others,
    }),
    dialect,
  };
}

/** `message_start` counts the input, each `message_delta` what has been put out so far. */
const dialect: Dialect = {
  hear: (event) => {
    const { type, message, usage } = event;
    const whole = isFields(message) ? message : {};
    const counted = isFields(whole.usage) ? whole.usage : usage;
    return {
      ...(type === 'error' ? { error: event } : {}),
      usage: isFields(counted) ? counted : undefined,
      model: typeof whole.model === 'string' ? whole.model : undefined,
      isLast: type === 'message_stop',
    };
  },
  usageOf: anthropicUsage,
  lastWord: 'reason',
};
