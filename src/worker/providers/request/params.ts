import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { type Fields, fieldsOf, isFields } from '../../../lib/fields.ts';
import { cacheControlOf, cacheOption, RequestError } from './chatMessages.ts';

/** Parameters about running the job, not for the provider. */
const ownKeys = ['stream', 'stream_options'];
const besideKeys = ['model', 'messages', 'prompt', 'input'];

/**
 * The parameters of a job for the provider; null is the same as absent. `stream` is ours, because answers are always
 * streamed, and those with the prefix `echo_` are for the echo provider, which may be another member of a chain.
 * @throws RequestError for one that would otherwise be ignored silently.
 */
export function providerParams(params: Fields): Fields {
  const beside = besideKeys.find((key) => (params[key] ?? null) !== null);
  if (beside !== undefined) {
    throw new RequestError(`params.${beside} is not a parameter: put ${beside} beside params in the job`);
  }
  if ((params.n ?? 1) !== 1) throw new RequestError('params.n is not supported: a job has one answer');
  return Object.fromEntries(
    Object.entries(params).filter(
      ([key, value]) =>
        value !== null &&
        value !== undefined &&
        key !== 'n' &&
        !ownKeys.includes(key) &&
        !key.startsWith('echo_'),
    ),
  );
}

/** The names for the most tokens of an answer, the more specific first. */
export const maxTokensKeys: readonly string[] = ['max_completion_tokens', 'max_output_tokens', 'max_tokens'];

/** @throws RequestError unless it is a whole number above 0. */
export function maxTokensOf(params: Fields): number | undefined {
  const key = maxTokensKeys.find((name) => params[name] !== undefined);
  if (key === undefined) return undefined;
  const value = params[key];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new RequestError(`params.${key} must be a whole number of at least 1`);
}

/** `stop` as a list. @throws RequestError. */
export function stopOf({ stop }: Fields): string[] | undefined {
  if (stop === undefined) return undefined;
  const list: unknown[] = Array.isArray(stop) ? stop : [stop];
  const texts = list.filter((text) => typeof text === 'string');
  if (texts.length === list.length) return texts;
  throw new RequestError('params.stop must be a text or a list of texts');
}

/** `response_format` in OpenAI's form. @throws RequestError for another form. */
export function responseFormatOf({
  response_format: format,
}: Fields): LanguageModelV4CallOptions['responseFormat'] {
  if (format === undefined) return undefined;
  const type = fieldsOf(format).type;
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json' };
  const schema = isFields(format) && type === 'json_schema' ? format.json_schema : null;
  if (!isFields(schema) || !isFields(schema.schema)) {
    throw new RequestError(
      'params.response_format must be {type: "json_object"} or {type: "json_schema", json_schema: {name, schema}}',
    );
  }
  const { name, description } = schema;
  return {
    type: 'json',
    schema: schema.schema,
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof description === 'string' ? { description } : {}),
  };
}

/** The tools of a job: those in OpenAI's form, and those in the provider's own, which are passed on unchanged. */
export interface Tools {
  functions: LanguageModelV4FunctionTool[];
  own: Fields[];
}

/** @throws RequestError unless it is a list of objects. */
export function toolsOf({ tools }: Fields): Tools {
  if (tools === undefined) return { functions: [], own: [] };
  if (!Array.isArray(tools) || !tools.every(isFields)) {
    throw new RequestError('params.tools must be a list of {type: "function", function: {name, parameters}}');
  }
  const sorted: Tools = { functions: [], own: [] };
  for (const tool of tools) {
    const given = tool.function;
    if (tool.type !== 'function' || !isFields(given) || typeof given.name !== 'string') {
      sorted.own.push(tool);
      continue;
    }
    const { name, description, parameters, strict } = given;
    const { cacheControl } = cacheControlOf({ cache_control: given.cache_control, ...tool }, 'params.tools');
    sorted.functions.push({
      type: 'function',
      name,
      inputSchema: isFields(parameters) ? parameters : { type: 'object', properties: {} },
      ...(typeof description === 'string' ? { description } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
      ...cacheOption(cacheControl),
    });
  }
  return sorted;
}

/** `tool_choice` in OpenAI's form. @throws RequestError for another one. */
export function toolChoiceOf({ tool_choice: choice }: Fields): LanguageModelV4CallOptions['toolChoice'] {
  if (choice === undefined) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice };
  const called = isFields(choice) ? choice.function : null;
  if (isFields(called) && typeof called.name === 'string') return { type: 'tool', toolName: called.name };
  throw new RequestError(
    'params.tool_choice must be "auto", "none", "required" or {type: "function", function: {name}}',
  );
}

export function without(params: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(params).filter(([key]) => !keys.includes(key)));
}
