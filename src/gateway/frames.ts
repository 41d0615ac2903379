import { array, boolean, lazy, mixed, number, object, type Schema, string } from 'yup';
import { errorClasses } from '../domain/failure.ts';
import { concurrencyMax, costUsdMax, millisecondsMax, nameLengthMax, tokensMax } from '../domain/limits.ts';
import {
  chunkPartsMax,
  featuresMax,
  frameDepthMax,
  frameMembersMax,
  framePlainMax,
  leasesMax,
  modelsLengthMax,
  modelsMax,
  type OutcomeFrame,
  outcomesMax,
  providersMax,
  statusMax,
  tagsMax,
  toolCallsMax,
  type WorkerFrame,
} from '../domain/workerProtocol.ts';
import { boundedList } from '../lib/boundedList.ts';
import { fastCheck } from '../lib/fastCheck.ts';
import { isFields } from '../lib/fields.ts';
import { frameReader } from '../lib/frames.ts';

/**
 * The form of every frame a worker may send. Unknown fields pass: the worker may be newer. Texts of an outcome may have
 * any length here and are cut later (words.ts): a paid result is not refused for them.
 */

const name = () => string().defined().min(1).max(nameLengthMax);
const isPlainName = (text: string): boolean => /\S/.test(text) && !/\p{Cc}/u.test(text);
/** Used by rules, logs and commands: a blank one, or one with a line break, could be neither seen nor named. */
const plainName = () =>
  string()
    .defined()
    .max(nameLengthMax)
    .test('plain', 'must not be blank or contain control characters', isPlainName)
    .meta({ fast: { plain: isPlainName } });
const lease = { job_id: string().max(nameLengthMax).required(), lease: number().integer().min(1).required() };

/** A list that is checked by hand, because yup takes 30 µs an item: reports its length, or its first invalid item. */
const longList = (max: number, isRight: (item: unknown) => boolean, what: string, isRequired = false) => {
  const list = lazy((value: unknown) => {
    if (!Array.isArray(value)) return isRequired ? array().required() : array();
    if (value.length > max) return array().max(max);
    const wrong = value.findIndex((item: unknown) => !isRight(item));
    return mixed().test('items', (_, { path, createError }) =>
      wrong < 0 ? true : createError({ path: `${path}[${wrong}]`, message: `must be ${what}` }),
    );
  });
  const isList = (value: unknown): boolean =>
    Array.isArray(value) && value.length <= max && value.every(isRight);
  return list.meta({ fast: { lazy: isList }, isRequired });
};
const isLease = fastCheck(object(lease));
const leases = (isRequired: boolean) => longList(leasesMax, isLease, 'a lease: {job_id, lease}', isRequired);
/** One that is too long is ignored later: the frame of an outcome is not refused for it. */
const modelName = () => string().nullable();
const tokens = () => number().integer().min(0).max(tokensMax);
const milliseconds = () => number().min(0).max(millisecondsMax);

const usage = object({
  input_tokens: tokens(),
  output_tokens: tokens(),
  cached_input_tokens: tokens(),
  cache_write_tokens: tokens(),
  reasoning_tokens: tokens(),
  total_tokens: tokens(),
  cost_usd: number().min(0).max(costUsdMax),
});

/** Whether it is a call of a tool that the model wants, in OpenAI's shape. */
function isToolCall(value: unknown): boolean {
  if (!isFields(value) || typeof value.id !== 'string' || value.type !== 'function') return false;
  const { function: called } = value;
  return (
    isFields(called) &&
    typeof called.name === 'string' &&
    called.name !== '' &&
    typeof called.arguments === 'string'
  );
}

const toolCalls = longList(
  toolCallsMax,
  isToolCall,
  'a tool call: {id, type: "function", function: {name, arguments}}',
);

/** Whether it is a part of a chunk. One of another type passes: the worker may be newer. */
function isChunkPart(value: unknown): boolean {
  if (!isFields(value) || typeof value.type !== 'string') return false;
  const { type, text, index, id = '', name: called = '', arguments: json } = value;
  if (type === 'text' || type === 'reasoning') return typeof text === 'string';
  if (type !== 'tool_call') return true;
  const isPlace = Number.isInteger(index) && Number(index) >= 0 && Number(index) < toolCallsMax;
  return isPlace && typeof id === 'string' && typeof called === 'string' && typeof json === 'string';
}

const chunkParts = longList(
  chunkPartsMax,
  isChunkPart,
  `a part: {type: "text", text}, {type: "reasoning", text} or {type: "tool_call", index, id?, name?, arguments} with an index below ${toolCallsMax}`,
);

/** Whether a chunk has what it is for. */
const isSaid = (chunk: unknown): boolean =>
  isFields(chunk) && (chunk.text !== undefined || chunk.parts !== undefined);

/** {provider: [model]}. Checked by hand, like long lists. */
const models = lazy((value: unknown) => {
  if (!isFields(value)) return object().optional();
  const fault = faultOfModels(Object.entries(value));
  return mixed().test('models', (_, { path, createError }) =>
    fault === null ? true : createError({ path, message: fault }),
  );
}).meta({
  fast: { lazy: (value: unknown) => isFields(value) && faultOfModels(Object.entries(value)) === null },
});

function faultOfModels(entries: [provider: string, list: unknown][]): string | null {
  if (entries.length > providersMax) return `must have at most ${providersMax} providers`;
  let count = 0;
  let length = 0;
  for (const [provider, list] of entries) {
    if (!isName(provider)) return `must name providers of 1 to ${nameLengthMax} characters`;
    if (!Array.isArray(list)) return 'must have a list of models for each provider';
    count += list.length;
    if (count > modelsMax) return `must have at most ${modelsMax} models in all`;
    for (const model of list as unknown[]) {
      if (!isName(model)) return `must name models of 1 to ${nameLengthMax} characters`;
      length += model.length;
    }
  }
  return length > modelsLengthMax ? `must have at most ${modelsLengthMax} characters in all` : null;
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= nameLengthMax;

export const schemas: Record<WorkerFrame['type'], Schema> = {
  hello: object({
    name: plainName(),
    kind: string().oneOf(['cloud', 'local']).required(),
    providers: boundedList(providersMax, array().of(name()).min(1).required()),
    models,
    tags: boundedList(tagsMax, array().of(name())),
    concurrency: number().integer().min(0).max(concurrencyMax).required(),
    version: string().max(nameLengthMax),
    host: string().max(nameLengthMax),
    instance: string().max(nameLengthMax),
    running: leases(false),
    free: boundedList(providersMax, array().of(name())),
    features: boundedList(featuresMax, array().of(name())),
  }),
  heartbeat: object({ running: leases(true), models }),
  chunk: object({ ...lease, seq: number().integer().min(0).required(), text: string(), parts: chunkParts })
    .test('said', 'must have text or parts', isSaid)
    .meta({ fast: { said: isSaid } }),
  complete: object({
    ...lease,
    result: object({
      output: string().defined(),
      tool_calls: toolCalls,
      finish_reason: string(),
      model: string().nullable(),
      usage,
      raw_usage: mixed(),
      latency_ms: milliseconds(),
      first_token_ms: milliseconds(),
    }).required(),
  }),
  fail: object({
    ...lease,
    error: object({
      class: string().oneOf(errorClasses).required(),
      message: string().defined(),
      status: number().integer().min(0).max(statusMax),
      code: string(),
      retry_after_seconds: number().min(0).max(millisecondsMax),
    }).required(),
    usage,
    begun: boolean(),
    model: modelName(),
  }),
  aborted: object({ ...lease, usage, model: modelName() }),
  release: object({ ...lease, begun: boolean() }),
  outcomes: object({
    outcomes: longList(outcomesMax, isFields, 'an object', true),
  }),
  drain: object({}),
};

const reader = frameReader<WorkerFrame>(schemas, {
  limits: { depth: frameDepthMax, members: frameMembersMax, plain: framePlainMax },
});

/** Parse one text frame. @returns the frame, or one sentence about what is wrong with it. */
export const parseFrame = reader.read;

/** Check an item of an `outcomes` frame. @returns it, or one sentence about what is wrong with it. */
export function checkOutcome(item: unknown): OutcomeFrame | string {
  const frame = reader.check(item);
  if (typeof frame === 'string') return frame;
  return isOutcome(frame) ? frame : `${frame.type}: is no outcome`;
}

function isOutcome(frame: WorkerFrame): frame is OutcomeFrame {
  const { type } = frame;
  return type === 'complete' || type === 'fail' || type === 'aborted' || type === 'release';
}
