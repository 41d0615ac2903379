import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { WireUsage } from '../../domain/usage.ts';
import type { Assignment } from '../../domain/workerProtocol.ts';
import { type Fields, fieldsOf, isFields } from '../../lib/fields.ts';
import type { Provider } from '../provider.ts';
import { baseOf, openAiNames } from './models/modelList.ts';
import type { ProviderSettings } from './providerSettings.ts';
import { RequestError } from './request/chatMessages.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  stopOf,
  type Tools,
  toolChoiceOf,
  toolsOf,
  without,
} from './request/params.ts';
import type { Dialect } from './sdk/dialect.ts';
import { sdkPrompt } from './sdk/sdkPrompt.ts';
import { sdkProvider } from './sdk/sdkProvider.ts';
import { countOf, tokenUsage } from './sdk/tokenUsage.ts';

const anthropicBaseUrl = 'https://api.anthropic.com/v1';
/** https://docs.claude.com/en/api/versioning */
const apiVersion = '2023-06-01';

/**
 * Anthropic's Messages API. Parameters that OpenAI and Anthropic name differently are translated (`stop`, `tools`,
 * `response_format`, `max_completion_tokens`); all others are passed on, and Anthropic refuses unknown ones by name. It
 * requires `max_tokens`: by default, the most that the model can produce (4096 for a model that the SDK does not know).
 * Source: https://docs.claude.com/en/api/messages
 */
export function createAnthropicProvider(settings: ProviderSettings): Provider {
  const baseUrl = withVersion(baseOf(settings.baseUrl ?? anthropicBaseUrl));
  const apiKey = settings.apiKey ?? '';
  return sdkProvider(settings, {
    kind: 'cloud',
    baseUrl,
    server: {
      lists: [{ url: `${baseUrl}/models?limit=1000`, names: openAiNames }],
      headers: { ...(apiKey === '' ? {} : { 'x-api-key': apiKey }), 'anthropic-version': apiVersion },
    },
    call: (assignment, name) => ({
      model: (fetch) => createAnthropic({ baseURL: baseUrl, apiKey, fetch })(name),
      ...messagesCall(assignment),
    }),
  });
}

/** Anthropic's own clients take the address without /v1, so people write it that way. */
function withVersion(url: string): string {
  return /\/v\d+$/.test(url) ? url : `${url}/v1`;
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
      'anthropic does not support params.response_format json_object: give a json_schema, or ask for JSON in the prompt',
    );
  }
  const others = without(params, mappedKeys);
  const prompt = sdkPrompt(assignment);
  const cached = cachedPlaces(prompt, tools);
  if (cached > cachedMax) {
    throw new RequestError(
      `cache_control is in ${cached} places of messages and params.tools; anthropic allows at most ${cachedMax}`,
    );
  }
  return {
    options: {
      prompt: prompt.some(({ role }) => role === 'system') ? [emptySystem, ...prompt] : prompt,
      ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
      ...(format === undefined ? {} : { responseFormat: format }),
      ...(tools.functions.length === 0 ? {} : { tools: tools.functions }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
    },
    amend: (body: Fields) => ({
      ...body,
      system: systemOf(body.system),
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

/** https://docs.claude.com/en/docs/build-with-claude/prompt-caching#how-many-cache-breakpoints */
const cachedMax = 4;

/** The SDK ignores those beyond the maximum. */
function cachedPlaces(prompt: LanguageModelV4Prompt, { functions, own }: Tools): number {
  const parts = prompt.flatMap(({ content }): object[] => (typeof content === 'string' ? [] : [...content]));
  const marked = [...prompt, ...parts, ...functions].filter(isMarked);
  const markedBySelf = own.filter((tool) => isFields(tool.cache_control));
  return marked.length + markedBySelf.length;
}

function isMarked(place: object): boolean {
  return 'providerOptions' in place && fieldsOf(place.providerOptions).anthropic !== undefined;
}

/**
 * The SDK moves the first system messages that it finds out of the conversation, from any position. After this one it
 * only moves the leading ones: the others keep their place, as the role `system` with the beta header that it needs.
 */
const emptySystem = { role: 'system' as const, content: '' };

/** The system prompt without `emptySystem`; undefined, which is not sent, when it is otherwise empty. */
function systemOf(system: unknown): unknown {
  const texts = Array.isArray(system) ? system.filter((text) => fieldsOf(text).text !== '') : [];
  return texts.length === 0 ? undefined : texts;
}

const eventTypes = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
  'error',
];

/**
 * `message_start` counts the input, each `message_delta` the output so far. Events of other types may be added at any
 * time: https://docs.claude.com/en/docs/build-with-claude/streaming
 */
const dialect: Dialect = {
  hear: (event) => {
    const { type, message, usage } = event;
    const whole = fieldsOf(message);
    const counted = isFields(whole.usage) ? whole.usage : usage;
    return {
      ...(type === 'error' ? { error: event } : {}),
      usage: isFields(counted) ? counted : undefined,
      isEarlyUsage: type === 'message_start',
      model: typeof whole.model === 'string' ? whole.model : undefined,
      isLast: type === 'message_stop',
      isUnknown: typeof type === 'string' && !eventTypes.includes(type),
    };
  },
  usageOf: anthropicUsage,
  lastWord: 'reason',
};

/**
 * `input_tokens` excludes cache reads and writes; `output_tokens` includes thinking. Source:
 * https://docs.claude.com/en/docs/build-with-claude/prompt-caching
 */
export function anthropicUsage(raw: Fields): Partial<WireUsage> {
  const plain = countOf(raw.input_tokens);
  const cached = countOf(raw.cache_read_input_tokens);
  const written = countOf(raw.cache_creation_input_tokens);
  return tokenUsage({
    input: plain === undefined ? undefined : plain + (cached ?? 0) + (written ?? 0),
    cached,
    written,
    output: countOf(raw.output_tokens),
    reasoning: countOf(fieldsOf(raw.output_tokens_details).thinking_tokens),
  });
}
