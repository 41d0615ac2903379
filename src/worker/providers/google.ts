import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { Assignment } from '../../domain/workerProtocol.ts';
import type { Provider } from '../provider.ts';
import { type Fields, isFields } from './fields.ts';
import type { ProviderSetup } from './index.ts';
import { baseOf, namesIn } from './modelList.ts';
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
import { googleUsage } from './tokenUsage.ts';

const googleBaseUrl = 'https://generativelanguage.googleapis.com/v1beta';

/**
 * Gemini. Parameters get Google's names (`top_p` → `topP`, `stop` → `stopSequences` …) and stand in `generationConfig`;
 * one that is not known goes there as it is, and Google refuses it by name. The key goes in a header, never in the
 * address. Source: https://ai.google.dev/api/generate-content
 */
export function createGoogle(setup: ProviderSetup): Provider {
  const baseUrl = baseOf(setup.baseUrl ?? googleBaseUrl);
  const apiKey = setup.apiKey ?? '';
  return sdkProvider(setup, {
    kind: 'cloud',
    baseUrl,
    server: {
      lists: [{ url: `${baseUrl}/models?pageSize=1000`, names: modelNames }],
      headers: apiKey === '' ? {} : { 'x-goog-api-key': apiKey },
      advice: {
        start: 'Is this machine online',
        address: `Is it elsewhere, say so with providers.${setup.name}.base_url`,
      },
    },
    call: (assignment, name) => ({
      model: (fetch) => createGoogleGenerativeAI({ baseURL: baseUrl, apiKey, fetch })(name),
      ...generateCall(assignment),
    }),
  });
}

/** `models/gemini-2.5-flash` is asked for as `gemini-2.5-flash`. */
function modelNames({ models }: Fields): string[] | null {
  return namesIn(models, 'name')?.map((name) => name.replace(/^models\//, '')) ?? null;
}

const mappedKeys = [...maxTokensKeys, 'stop', 'response_format', 'tools', 'tool_choice', 'generationConfig'];
/** What stands beside `generationConfig`. */
const bodyKeys = [
  'safetySettings',
  'cachedContent',
  'systemInstruction',
  'toolConfig',
  'labels',
  'store',
  'serviceTier',
];
const googleNames: Readonly<Record<string, string>> = {
  top_p: 'topP',
  top_k: 'topK',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
};

function generateCall(assignment: Assignment) {
  const params = providerParams(assignment.params);
  const tools = toolsOf(params);
  const toolChoice = toolChoiceOf(params);
  const maxTokens = maxTokensOf(params);
  const stop = stopOf(params);
  const format = responseFormatOf(params);
  const others = Object.entries(without(params, mappedKeys));
  const beside = Object.fromEntries(others.filter(([key]) => bodyKeys.includes(key)));
  const config = {
    ...Object.fromEntries(
      others
        .filter(([key]) => !bodyKeys.includes(key))
        .map(([key, value]) => [googleNames[key] ?? key, value]),
    ),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(stop === undefined ? {} : { stopSequences: stop }),
    ...(isFields(params.generationConfig) ? params.generationConfig : {}),
  };
  return {
    options: {
      prompt: sdkPrompt(assignment),
      ...(format === undefined ? {} : { responseFormat: format }),
      ...(tools.functions.length === 0 ? {} : { tools: tools.functions }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
    },
    amend: (body: Fields) => ({
      ...body,
      generationConfig: { ...(isFields(body.generationConfig) ? body.generationConfig : {}), ...config },
      ...(tools.own.length === 0
        ? {}
        : { tools: [...(Array.isArray(body.tools) ? body.tools : []), ...tools.own] }),
      ...beside,
    }),
    dialect,
  };
}

/** Every event is a whole response object, with the usage so far. */
const dialect: Dialect = {
  hear: ({ error, usageMetadata, modelVersion }) => ({
    ...(error === undefined || error === null ? {} : { error: { error } }),
    usage: isFields(usageMetadata) ? usageMetadata : undefined,
    model: typeof modelVersion === 'string' ? modelVersion : undefined,
  }),
  usageOf: googleUsage,
  lastWord: 'reason',
};
