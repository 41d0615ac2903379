import type { Assignment } from '../../domain/workerProtocol.ts';
import { chatMessages, MessageError } from './chatMessages.ts';

/** A job that ollama cannot be asked. */
export class OllamaRequestError extends Error {}

/** Parameters that stand beside the messages; every other one is an option of the model. */
const requestKeys = ['format', 'keep_alive', 'think', 'truncate', 'shift'];
/** Ours, or without a meaning here. */
const ignoredKeys = ['stream', 'response_format', 'max_tokens', 'max_completion_tokens', 'options', 'tools'];

/**
 * The body of POST /api/chat. `truncate: false` and `shift: false`: else a prompt that does not fit loses its begin, and
 * the answer is a 200 to another question. Options: https://github.com/ollama/ollama/blob/main/docs/modelfile.md and
 * api/types.go; an option that it does not know is ignored by the server.
 * @throws OllamaRequestError when there is nothing to say, or something that it cannot take.
 */
export function ollamaRequest(assignment: Assignment, model: string): string {
  const { params } = assignment;
  if (Array.isArray(params.tools) && params.tools.length > 0) {
    throw new OllamaRequestError(
      'params.tools is not supported: a result has no place for the calls of tools',
    );
  }
  return JSON.stringify({
    model,
    messages: messagesOf(assignment),
    stream: true,
    truncate: false,
    shift: false,
    format: formatOf(params.response_format),
    ...pick(params, (key) => requestKeys.includes(key)),
    options: optionsOf(params),
  });
}

function messagesOf(assignment: Assignment): object[] {
  try {
    const messages = chatMessages(assignment);
    if (messages.length === 0) throw new OllamaRequestError('The job has neither a prompt nor a message');
    return messages.map(({ role, text, images }) => ({
      // What OpenAI calls developer is the system to everybody else.
      role: role === 'developer' ? 'system' : role,
      content: text,
      ...(images.length === 0 ? {} : { images }),
    }));
  } catch (error) {
    throw error instanceof MessageError ? new OllamaRequestError(error.message) : error;
  }
}

function optionsOf(params: Record<string, unknown>): Record<string, unknown> {
  const { max_tokens: maxTokens, max_completion_tokens: maxCompletion, options, stop } = params;
  const plain = pick(
    params,
    (key) => !requestKeys.includes(key) && !ignoredKeys.includes(key) && !key.startsWith('echo_'),
  );
  const limit = maxCompletion ?? maxTokens;
  return {
    ...plain,
    ...(typeof stop === 'string' ? { stop: [stop] } : {}),
    ...(typeof limit === 'number' ? { num_predict: limit } : {}),
    ...(typeof options === 'object' && options !== null ? options : {}),
  };
}

/** The form of the answer, as OpenAI has it: `json_object`, or `json_schema` with its schema. */
function formatOf(format: unknown): unknown {
  if (typeof format !== 'object' || format === null || !('type' in format)) return undefined;
  if (format.type === 'json_object') return 'json';
  if (format.type !== 'json_schema' || !('json_schema' in format)) return undefined;
  const { json_schema: schema } = format;
  return typeof schema === 'object' && schema !== null && 'schema' in schema ? schema.schema : undefined;
}

function pick(params: Record<string, unknown>, isWanted: (key: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).filter(([key, value]) => isWanted(key) && value !== null && value !== undefined),
  );
}
