import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Assignment } from '../../domain/workerProtocol.ts';
import { type Fields, isFields } from '../../lib/fields.ts';
import { isOwnHost } from '../../lib/hosts.ts';
import { own } from '../../lib/own.ts';
import type { Provider } from '../provider.ts';
import { azureAddress } from './azure.ts';
import { localModels } from './models/localModels.ts';
import { baseOf, type ModelListing, namesIn, openAiNames, queryOf } from './models/modelList.ts';
import type { localPresetNames } from './names.ts';
import { type CloudPreset, cloudPresets } from './presets.ts';
import type { ProviderSettings } from './providerSettings.ts';
import { plainMessages } from './request/chatMessages.ts';
import { providerParams } from './request/params.ts';
import { chatUsageWithCost, openAiChatDialect } from './sdk/openAiChatDialect.ts';
import { responsesCall } from './sdk/openAiResponses.ts';
import { sdkProvider } from './sdk/sdkProvider.ts';

interface Preset {
  baseUrl: string;
  /** Advice when it does not answer. */
  start: string;
  /** It answers with another model than the requested one. */
  isLax?: true;
  /** Its lists of models, requested before GET /v1/models. @param origin scheme, host and port. */
  lists?: (origin: string) => ModelListing[];
}

/** Local servers known by name. */
const localPresets: Readonly<Record<(typeof localPresetNames)[number], Preset>> = {
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
 * Every server with OpenAI's chat completions: LM Studio, llama.cpp and vLLM under their names, cloud providers under
 * those of `presets.ts`, all others by `base_url`. `messages` and `params` are passed on unchanged. A server on this
 * machine or in its network is local: its models are requested when the worker starts, and with every heartbeat. With
 * `api: responses` the Responses API is used, which llama.cpp, vLLM and LM Studio have too.
 * @returns null when there is no preset of the name and no `baseUrl`.
 */
export function createOpenAiCompatibleProvider(settings: ProviderSettings): Provider | null {
  const { name } = settings;
  const local = own<Preset>(localPresets, name);
  const cloud = own(cloudPresets, name);
  const given = settings.baseUrl ?? local?.baseUrl ?? cloud?.baseUrl ?? null;
  if (given === null) return null;
  const baseUrl = withVersion(baseOf(given), local !== undefined);
  const { origin, hostname } = new URL(baseUrl);
  const azure = name === 'azure' ? azureAddress(baseUrl, queryOf(given)) : null;
  const isLocal = local !== undefined || isOwnHost(hostname);
  const list = { url: azure?.models ?? `${baseUrl}/models`, names: openAiNames };
  const key = keyHeaders(settings.apiKey, cloud);
  return sdkProvider(settings, {
    kind: isLocal ? 'local' : 'cloud',
    baseUrl,
    ...(azure === null ? {} : { query: azure.query }),
    ...(azure?.hasModelInPath === true ? { modelPattern: deploymentPattern } : {}),
    server: {
      lists: [...keyCheck(baseUrl, cloud), ...(local?.lists?.(origin) ?? []), list],
      headers: key,
      ...(isLocal ? { start: local?.start ?? 'Start it' } : {}),
    },
    ...(isLocal
      ? { modelChoice: (models) => localModels(models, local?.isLax === true, settings.model) }
      : {}),
    call: (assignment, model) => {
      const baseURL = azure?.chatBase(model) ?? baseUrl;
      return settings.api === 'responses'
        ? {
            model: (fetch) => createOpenAI({ baseURL, apiKey: '', headers: key, fetch }).responses(model),
            ...responsesCall(assignment),
          }
        : {
            model: (fetch) =>
              createOpenAICompatible({
                name,
                baseURL,
                headers: key,
                includeUsage: cloud?.isStrict !== true,
                fetch,
              })(model),
            ...chatCall(assignment, cloud),
          };
    },
  });
}

/** The deployment is part of the address; its name must not lead to another one. */
const deploymentPattern = /^[\w-][\w.-]*$/;

function chatCall(assignment: Assignment, cloud: CloudPreset | undefined) {
  const params = providerParams(assignment.params);
  const messages = plainMessages(assignment);
  const { max_completion_tokens: limit, ...others } = params;
  const fitting = cloud?.isStrict === true && limit !== undefined ? { max_tokens: limit, ...others } : params;
  return {
    options: { prompt: [] },
    amend: (body: Fields) => ({ ...body, messages, ...fitting }),
    dialect: openAiChatDialect('either', cloud?.tellsCost === true ? chatUsageWithCost : undefined),
  };
}

function keyHeaders(apiKey: string | null, cloud: CloudPreset | undefined): Record<string, string> {
  if (apiKey === null) return {};
  const name = cloud?.keyHeader;
  return name === undefined ? { authorization: `Bearer ${apiKey}` } : { [name]: apiKey };
}

/** The answer is not a list of models: it only shows whether the key is accepted. */
function keyCheck(baseUrl: string, cloud: CloudPreset | undefined): ModelListing[] {
  return cloud?.keyPath === undefined ? [] : [{ url: `${baseUrl}${cloud.keyPath}`, names: () => null }];
}

/** For a local server people know host and port; its API is under /v1. */
function withVersion(url: string, isPreset: boolean): string {
  return isPreset && new URL(url).pathname === '/' ? `${url}/v1` : url;
}

/**
 * LM Studio lists the models on disk under /v1/models; its own API reports which are loaded. It loads others on request
 * (unless that is disabled), so all can be requested; only the loaded ones are advertised, so that a job goes to a
 * worker with its model in memory. Sources: https://lmstudio.ai/docs/developer/rest: /api/v1/models since 0.4.0,
 * /api/v0/models before.
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

/** A loaded instance has its own name, by default that of the model. */
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
