import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../../config/config.ts';
import type { JobRequest } from '../../../domain/job.ts';
import { parseDispatch } from '../../../http/routes/jobs/schema.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { invalidField } from '../errors.ts';
import { isGiven, modelOf, outlivesClient, passedOn, surroundingsOf, switchOf } from '../request.ts';
import { chatFields } from './fields.ts';

/** A chat completion as it was asked for. */
export interface ChatRequest {
  /** As the client named it. */
  model: string;
  /** Its provider and model are not decided yet. */
  job: JobRequest;
  isStream: boolean;
  /** Whether the stream ends with a chunk of usage. */
  hasUsage: boolean;
  /** Whether the job continues when its client hangs up. */
  outlivesClient: boolean;
}

/** @throws OpenAiError, CoordinatorError invalid_request. */
export function parseChat(body: unknown, headers: IncomingHttpHeaders, config: Config): ChatRequest {
  const fields: Fields = isFields(body) ? body : {};
  const { stream_options: options } = fields;
  const model = modelOf(fields);
  if (!isGiven(fields.messages)) throw invalidField('messages', 'is required');
  const isStream = switchOf(fields, 'stream');
  if (isGiven(options) && !isFields(options)) throw invalidField('stream_options', 'must be an object');
  const hasUsage = isFields(options) && options.include_usage === true;
  const surroundings = surroundingsOf(fields, headers, config);
  const job = parseDispatch(
    { messages: fields.messages, params: passedOn(fields, chatFields), ...surroundings },
    config,
  );
  const door = { form: 'chat', fields: { model, ...(fields.store === true ? { store: true } : {}) } };
  return { model, job: { ...job, door }, isStream, hasUsage, outlivesClient: outlivesClient(headers) };
}
