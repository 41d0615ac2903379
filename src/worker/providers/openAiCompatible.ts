import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type Fields, isFields } from '../../lib/fields.ts';
import { isOwnHost } from '../../lib/hosts.ts';
import type { Provider } from '../provider.ts';
import { localModels } from './models/localModels.ts';
import { baseOf, type ModelListing, namesIn, openAiNames } from './models/modelList.ts';
import type { ProviderSettings } from './providerSettings.ts';
import { plainMessages } from './request/chatMessages.ts';
import { providerParams } from './request/params.ts';
import { openAiChatDialect } from './sdk/openAiChatDialect.ts';
import { responsesCall } from './sdk/openAiResponses.ts';
import { type SdkProviderParts, sdkProvider } from './sdk/sdkProvider.ts';

interface Preset {
  baseUrl: string;
  /** What to do when it does not answer. */
  start: string;
  /** Answers with another model than the one that it was asked for. */
  isLax?: true;
  /** Where its models are listed, before GET /v1/models is asked. @param origin scheme, host and port. */
  lists?: (origin: string) => ModelListing[];
}

/** Local servers that are found by their name alone. */
export const localPresets: Readonly<Record<string, Preset>> = {
  lmstudio: {
    baseUrl: 'http://127.0.0.1:1234/v1',
    start: 'Start it with "lms server start", and load a model with "lms load <model>"',
    lists: lmStudioLists,
    isLax: true,
  },
  llamacpp: {
    baseUrl: 'http://127.0.0.1:8080/v1',
    start:
      'Start it with "llama-server -m <model.gguf> --port 8080" (newer builds listen on 9931 without --port)',
    isLax: true,
  },
  vllm: {
    baseUrl: 'http://127.0.0.1:8000/v1',
    start: 'Start it with "vllm serve <model>"',
  },
};

/**
 * Anything that speaks OpenAI's chat completions: LM Studio, llama.cpp and vLLM under their names, everything else by its
 * `base_url`. `messages` and `params` go as they are. One on this machine or in its network is a local one: it is asked
 * for its models when the worker starts, and with every heartbeat. With `api: responses` it is asked over the Responses
 * API, which llama.cpp, vLLM and LM Studio have too.
 * @returns null when there is no preset of the name and no `baseUrl`.
 */
export function createOpenAiCompatibleProvider(settings: ProviderSettings): Provider | null {
  const { name, apiKey } = settings;
  const preset = Object.hasOwn(localPresets, name) ? localPresets[name] : undefined;
  const given = settings.baseUrl ?? preset?.baseUrl ?? null;
  if (given === null) return null;
  const baseUrl = withVersion(baseOf(given), preset !== undefined);
  const { origin, hostname } = new URL(baseUrl);
  const isLocal = preset !== undefined || isOwnHost(hostname);
  const chat: SdkProviderParts['call'] = (assignment, model) => {
    const params = providerParams(assignment.params);
    const messages = plainMessages(assignment);
    return {
      model: (fetch) =>
        createOpenAICompatible({
          name,
          baseURL: baseUrl,
          ...(apiKey === null ? {} : { apiKey }),
          includeUsage: true,
          fetch,
        })(model),
      options: { prompt: [] },
      amend: (body) => ({ ...body, messages, ...params }),
      dialect: openAiChatDialect('either'),
    };
  };
  const responses: SdkProviderParts['call'] = (assignment, model) => ({
    model: (fetch) => createOpenAI({ baseURL: baseUrl, apiKey: apiKey ?? '', fetch }).responses(model),
    ...responsesCall(assignment),
  });
  return sdkProvider(settings, {
    kind: isLocal ? 'local' : 'cloud',
    baseUrl,
    server: {
      lists: [...(preset?.lists?.(origin) ?? []), { url: `${baseUrl}/models`, names: openAiNames }],
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      ...(isLocal ? { start: preset?.start ?? 'Start it' } : {}),
    },
    ...(isLocal
      ? { modelChoice: (models) => localModels(models, preset?.isLax === true, settings.model) }
      : {}),
    call: settings.api === 'responses' ? responses : chat,
  });
}

/** Of a local server people know host and port; its API is under /v1. */
function withVersion(url: string, isPreset: boolean): string {
  return isPreset && new URL(url).pathname === '/' ? `${url}/v1` : url;
}

/**
 * LM Studio lists what is on the disk under /v1/models; its own API tells what is loaded. A model that is not is loaded
 * when it is asked for (unless that is switched off), so all may be asked for; told are the loaded ones, that a job goes
 * to the worker that has its model in memory.
 * Sources: https://lmstudio.ai/docs/developer/rest: /api/v1/models since 0.4.0, /api/v0/models before.
 */
function lmStudioLists(origin: string): ModelListing[] {
  const listing = (url: string, read: (list: Fields) => LmStudioModel[] | null): ModelListing => {
    const all = (list: Fields): string[] | null => read(list)?.flatMap(({ names }) => names) ?? null;
    const loaded = (list: Fields): string[] | null =>
      read(list)?.flatMap(({ isLoaded, names }) => (isLoaded ? names : [])) ?? null;
    return { url, all, names: loaded };
  };
  return [
    listing(`${origin}/api/v1/models`, ({ models }) => lmStudioModels(models, 'key')),
    listing(`${origin}/api/v0/models`, ({ data }) => lmStudioModels(data, 'id')),
  ];
}

interface LmStudioModel {
  names: string[];
  isLoaded: boolean;
}

/** A loaded instance has a name of its own, which is that of the model unless somebody gave it another. */
function lmStudioModels(list: unknown, nameKey: string): LmStudioModel[] | null {
  if (!Array.isArray(list)) return null;
  return list.filter(isFields).flatMap((model) => {
    const { [nameKey]: name, type, state, loaded_instances: loaded } = model;
    if (typeof name !== 'string' || type === 'embedding' || type === 'embeddings') return [];
    const instances = namesIn(loaded, 'id') ?? [];
    return [
      { names: [...new Set([name, ...instances])], isLoaded: state === 'loaded' || instances.length > 0 },
    ];
  });
}
