import type { Assignment } from '../../../domain/workerProtocol.ts';
import { type Fields, parseFields } from '../../../lib/fields.ts';
import { type ChatMessage, chatMessages, RequestError } from '../request/chatMessages.ts';
import {
  maxTokensKeys,
  maxTokensOf,
  providerParams,
  responseFormatOf,
  stopOf,
  toolsOf,
  without,
} from '../request/params.ts';

/** Parameters beside the messages. */
const requestKeys = [
  'format',
  'keep_alive',
  'think',
  'truncate',
  'shift',
  'tools',
  'logprobs',
  'top_logprobs',
];
/**
 * Options of a model: https://github.com/ollama/ollama/blob/main/api/types.go, Options and Runner. The server ignores
 * an unknown one and only logs it, so it is refused here; `options` takes any.
 */
const optionKeys = [
  'num_keep',
  'seed',
  'num_predict',
  'top_k',
  'top_p',
  'min_p',
  'typical_p',
  'repeat_last_n',
  'temperature',
  'repeat_penalty',
  'presence_penalty',
  'frequency_penalty',
  'stop',
  'num_ctx',
  'num_batch',
  'num_gpu',
  'main_gpu',
  'use_mmap',
  'num_thread',
];
const mappedKeys = [...maxTokensKeys, 'response_format', 'options', 'reasoning_effort', 'tool_choice'];

/**
 * The body of POST /api/chat. `truncate: false` and `shift: false`: otherwise a prompt that does not fit loses its
 * start, and the answer is a 200 to another question.
 * @throws RequestError when the job has no content, or a parameter that ollama does not support.
 */
export function ollamaRequest(assignment: Assignment, model: string): string {
  const params = providerParams(assignment.params);
  // Passed on unchanged, after checking that they are a list.
  toolsOf(params);
  const unknown = Object.keys(params).find(
    (key) => !requestKeys.includes(key) && !optionKeys.includes(key) && !mappedKeys.includes(key),
  );
  if (unknown !== undefined) {
    throw new RequestError(
      `params.${unknown} is not known to ollama; put other parameters of its model into params.options`,
    );
  }
  if (params.tool_choice !== undefined && params.tool_choice !== 'auto') {
    throw new RequestError('params.tool_choice is not supported by ollama: the model decides ("auto")');
  }
  return JSON.stringify({
    model,
    messages: chatMessages(assignment).map(ollamaMessage),
    stream: true,
    truncate: false,
    shift: false,
    format: formatOf(params),
    think: params.reasoning_effort,
    ...pick(params, requestKeys),
    options: optionsOf(params),
  });
}

function ollamaMessage({ role, text, images, toolCalls, toolName }: ChatMessage): object {
  return {
    role,
    content: text,
    ...(images.length === 0 ? {} : { images: images.map(({ base64 }) => base64) }),
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map(({ function: called }) => ({
            function: { name: called.name, arguments: parseFields(called.arguments) ?? {} },
          })),
        }),
    ...(role === 'tool' && toolName !== null ? { tool_name: toolName } : {}),
  };
}

function optionsOf(params: Fields): Fields {
  const { options } = params;
  const stop = stopOf(params);
  const limit = maxTokensOf(params);
  return {
    ...without(pick(params, optionKeys), ['stop']),
    ...(stop === undefined ? {} : { stop }),
    ...(limit === undefined ? {} : { num_predict: limit }),
    ...(typeof options === 'object' && options !== null ? options : {}),
  };
}

function formatOf(params: Fields): unknown {
  const format = responseFormatOf(params);
  return format?.type === 'json' ? (format.schema ?? 'json') : undefined;
}

function pick(params: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(params).filter(([key]) => keys.includes(key)));
}
