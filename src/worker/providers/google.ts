import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { WireUsage } from '../../domain/usage.ts';
import type { Assignment } from '../../domain/workerProtocol.ts';
import { type Fields, fieldsOf, isFields } from '../../lib/fields.ts';
import type { Provider } from '../provider.ts';
import { baseOf, namesIn } from './models/modelList.ts';
import type { ProviderSettings } from './providerSettings.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  stopOf,
  toolChoiceOf,
  toolsOf,
  without,
} from './request/params.ts';
import type { Dialect } from './sdk/dialect.ts';
import { systemFirstPrompt } from './sdk/sdkPrompt.ts';
import { sdkProvider } from './sdk/sdkProvider.ts';
import { countOf, tokenUsage } from './sdk/tokenUsage.ts';

const googleBaseUrl = 'https://generativelanguage.googleapis.com/v1beta';
/**
 * Clients name models, and Google has the name in the path: it must not lead to another method with the owner's key.
 */
const modelPattern = /^\w[\w.-]*(\/\w[\w.-]*)*$/;

/**
 * Gemini. Parameters get Google's names (`top_p` → `topP`, `stop` → `stopSequences` …) and are put into
 * `generationConfig`; an unknown one is put there unchanged, and Google refuses it by name. The key is sent in a
 * header, never in the address. Source: https://ai.google.dev/api/generate-content
 */
export function createGoogle(settings: ProviderSettings): Provider {
  const baseUrl = baseOf(settings.baseUrl ?? googleBaseUrl);
  const apiKey = settings.apiKey ?? '';
  return sdkProvider(settings, {
    kind: 'cloud',
    baseUrl,
    server: {
      lists: [{ url: `${baseUrl}/models?pageSize=1000`, names: modelNames }],
      headers: apiKey === '' ? {} : { 'x-goog-api-key': apiKey },
    },
    modelPattern,
    call: (assignment, name) => ({
      model: (fetch) => createGoogleGenerativeAI({ baseURL: baseUrl, apiKey, fetch })(name),
      ...generateCall(assignment),
    }),
  });
}

/** `models/gemini-2.5-flash` is requested as `gemini-2.5-flash`. */
function modelNames({ models }: Fields): string[] | null {
  return namesIn(models, 'name')?.map((name) => name.replace(/^models\//, '')) ?? null;
}

const mappedKeys = [...maxTokensKeys, 'stop', 'response_format', 'tools', 'tool_choice', 'generationConfig'];
/** Parameters beside `generationConfig`. */
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
    ...fieldsOf(params.generationConfig),
  };
  return {
    options: {
      prompt: systemFirstPrompt(assignment, 'google'),
      ...(format === undefined ? {} : { responseFormat: format }),
      ...(tools.functions.length === 0 ? {} : { tools: tools.functions }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
    },
    amend: (body: Fields) => ({
      ...body,
      generationConfig: { ...fieldsOf(body.generationConfig), ...config },
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

/**
 * `promptTokenCount` includes the cached ones; `candidatesTokenCount` excludes the thoughts, which are billed as output.
 * Source: https://ai.google.dev/api/generate-content#UsageMetadata
 */
export function googleUsage(raw: Fields): Partial<WireUsage> {
  const prompt = countOf(raw.promptTokenCount);
  const candidates = countOf(raw.candidatesTokenCount);
  const thoughts = countOf(raw.thoughtsTokenCount);
  const isOutputKnown = candidates !== undefined || thoughts !== undefined;
  return tokenUsage({
    input: prompt === undefined ? undefined : prompt + (countOf(raw.toolUsePromptTokenCount) ?? 0),
    cached: countOf(raw.cachedContentTokenCount),
    written: undefined,
    output: isOutputKnown ? (candidates ?? 0) + (thoughts ?? 0) : undefined,
    reasoning: thoughts,
  });
}
