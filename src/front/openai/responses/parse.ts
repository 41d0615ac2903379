import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../../config/config.ts';
import type { JobRequest, Message } from '../../../domain/job.ts';
import { parseDispatch } from '../../../http/routes/jobs/schema.ts';
import { type Fields, fieldsOf, isFields } from '../../../lib/fields.ts';
import { invalidField, OpenAiError } from '../errors.ts';
import { isGiven, modelOf, outlivesClient, passedOn, surroundingsOf, switchOf } from '../request.ts';
import { responseFields } from './fields.ts';
import { messagesOf } from './items.ts';
import type { Previous } from './previous.ts';
import { FunctionTools, toolParams } from './tools.ts';

/** A response as it was asked for. */
export interface ResponseRequest {
  /** As the client named it. */
  model: string;
  /** All that decides on the job, as JSON. */
  asked: unknown;
  /**
   * The job, whose provider and model are not decided yet. @throws OpenAiError; CoordinatorError invalid_request, and what
   * `previous` throws.
   */
  job(previous: Previous): Promise<JobRequest>;
  isStream: boolean;
  /** It is answered at once, and continues whether or not a client waits for it. */
  isBackground: boolean;
  /** Whether the job continues when its client hangs up. */
  outlivesClient: boolean;
}

/** Fields that are kept to show the response again, as they came. */
const shownFields = [
  'instructions',
  'max_output_tokens',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'service_tier',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_p',
  'truncation',
];

/** @throws OpenAiError. */
export function parseResponse(body: unknown, headers: IncomingHttpHeaders, config: Config): ResponseRequest {
  const fields: Fields = isFields(body) ? body : {};
  const model = modelOf(fields);
  const isStream = switchOf(fields, 'stream');
  const isBackground = switchOf(fields, 'background');
  const functions = new FunctionTools(fields.tools);
  const params = { ...paramsOf(fields), ...toolParams(fields, functions) };
  const surroundings = surroundingsOf(fields, headers, config);
  const said = conversationOf(fields, functions);
  const door = { form: 'response', fields: shownOf(fields, { model, isStream, isBackground }) };
  return {
    model,
    asked: { said, params, ...surroundings, door },
    job: async (previous) => {
      const messages = await continued(said, previous, config);
      return { ...parseDispatch({ messages, params, ...surroundings }, config), door };
    },
    isStream,
    isBackground,
    outlivesClient: isBackground || outlivesClient(headers),
  };
}

/** What the request says of the conversation. */
interface Said {
  /** Instructions, which are those of this response alone. */
  before: Message[];
  input: Message[];
  previousId: string | null;
}

/** @throws OpenAiError. */
function conversationOf(
  { instructions, input, previous_response_id: previousId }: Fields,
  functions: FunctionTools,
): Said {
  if (isGiven(instructions) && typeof instructions !== 'string')
    throw invalidField('instructions', 'must be a string');
  if (isGiven(previousId) && typeof previousId !== 'string')
    throw invalidField('previous_response_id', 'must be a string');
  return {
    before: typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [],
    input: isGiven(input) ? messagesOf(input, functions) : [],
    previousId: typeof previousId === 'string' ? previousId : null,
  };
}

/** Instructions, what was said before, and the input. @throws OpenAiError, and what `previous` throws. */
async function continued(
  { before, input, previousId }: Said,
  previous: Previous,
  { http }: Config,
): Promise<Message[]> {
  const earlier = previousId === null ? [] : await previous.messagesOf(previousId);
  const messages = [...before, ...earlier, ...input];
  if (input.length === 0 && earlier.length === 0) {
    throw invalidField('input', 'must have text or at least one message');
  }
  if (earlier.length === 0) return messages;
  const bytes = Buffer.byteLength(JSON.stringify(messages));
  if (bytes <= http.maxBodyBytes) {
    await previous.hold(bytes);
    return messages;
  }
  throw new OpenAiError(
    `The conversation up to here has ${bytes} bytes, and a request may have ${http.maxBodyBytes} (http.max_body_bytes): send the part of it that matters as input, without previous_response_id`,
    { status: 400, param: 'previous_response_id', code: 'context_length_exceeded' },
  );
}

/** All that the provider is asked for besides tools. @throws OpenAiError. */
function paramsOf(fields: Fields): Record<string, unknown> {
  const { reasoning, text } = fields;
  if (isGiven(reasoning) && !isFields(reasoning)) throw invalidField('reasoning', 'must be an object');
  if (isGiven(text) && !isFields(text)) throw invalidField('text', 'must be an object');
  const { max_output_tokens: most } = fields;
  const { effort } = fieldsOf(reasoning);
  const { format, verbosity } = fieldsOf(text);
  const responseFormat = formatOf(format);
  return {
    ...passedOn(fields, responseFields),
    // The name that every worker can translate.
    ...(isGiven(most) ? { max_tokens: most } : {}),
    ...(isGiven(effort) ? { reasoning_effort: effort } : {}),
    ...(isGiven(verbosity) ? { verbosity } : {}),
    ...(responseFormat === null ? {} : { response_format: responseFormat }),
  };
}

/** `text.format` as `response_format` of a chat; null for plain text. @throws OpenAiError. */
function formatOf(format: unknown): Fields | null {
  if (!isGiven(format)) return null;
  if (!isFields(format)) throw invalidField('text.format', 'must be an object');
  const { type, ...schema } = format;
  if (type === 'text') return null;
  return type === 'json_schema' ? { type, json_schema: schema } : format;
}

/** What the door needs to show the response again. A streamed one in the background can be read again as a stream. */
function shownOf(
  fields: Fields,
  { model, isStream, isBackground }: { model: string; isStream: boolean; isBackground: boolean },
): Record<string, unknown> {
  const shown = shownFields.filter((name) => isGiven(fields[name])).map((name) => [name, fields[name]]);
  return {
    model,
    ...Object.fromEntries(shown),
    ...(isBackground ? { background: true, ...(isStream ? { stream: true } : {}) } : {}),
  };
}
