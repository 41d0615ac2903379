import { createOpenAI } from '@ai-sdk/openai';
import type { Assignment } from '../../domain/workerProtocol.ts';
import type { Provider } from '../provider.ts';
import { baseOf, openAiNames } from './models/modelList.ts';
import type { ProviderSettings } from './providerSettings.ts';
import { plainMessages } from './request/chatMessages.ts';
import { maxTokensOf, providerParams } from './request/params.ts';
import { openAiChatDialect } from './sdk/openAiChatDialect.ts';
import { responsesCall } from './sdk/openAiResponses.ts';
import { type SdkProviderParts, sdkProvider } from './sdk/sdkProvider.ts';

const openAiBaseUrl = 'https://api.openai.com/v1';

/**
 * OpenAI: chat completions, or with `api: responses` the Responses API. `messages`, `params`, tools and the response
 * format are OpenAI's own and passed unchanged to chat completions; for Responses they are converted. Sources:
 * https://platform.openai.com/docs/api-reference/chat, …/responses
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
  // The SDK knows which models need max_completion_tokens instead.
  const { max_tokens: given, ...others } = params;
  const maxTokens = maxTokensOf({ max_tokens: given });
  return {
    options: { prompt: [], ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }) },
    amend: (body: object) => ({ ...body, messages, ...others }),
    dialect: openAiChatDialect('done'),
  };
}
