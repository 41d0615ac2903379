import { array, boolean, lazy, mixed, number, object, type Schema, string } from 'yup';
import { errorClasses, type ReportedFailure } from '../domain/failure.ts';
import { concurrencyMax, costUsdMax, millisecondsMax, nameLengthMax, tokensMax } from '../domain/limits.ts';
import { type Usage, usageFromWire, type WireUsage } from '../domain/usage.ts';
import {
  frameDepthMax,
  modelsMax,
  namesMax,
  statusMax,
  toolCallsMax,
  type WireFailure,
  type WorkerFrame,
} from '../domain/workerProtocol.ts';
import { boundedList } from '../lib/boundedList.ts';
import { isFields } from '../lib/fields.ts';
import { frameReader } from '../lib/frames.ts';
import { isPlainFrame } from './plainFrame.ts';

/** The form of every frame a worker may send. Fields that are not known are let through: a newer worker may say more. */

const name = () => string().defined().min(1).max(nameLengthMax);
/** Rules, logs and commands name it: a blank one, or one with a line break, could be neither seen nor asked for. */
const plainName = () =>
  string()
    .defined()
    .max(nameLengthMax)
    .test(
      'plain',
      'must be neither blank nor have control characters',
      (text) => /\S/.test(text) && !/\p{Cc}/u.test(text),
    );
const lease = { job_id: string().max(nameLengthMax).required(), lease: number().integer().min(1).required() };
const modelName = () => string().max(nameLengthMax).nullable();
const leases = array().of(object(lease));
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

const toolCalls = boundedList(
  toolCallsMax,
  array()
    .of(
      object({
        id: string().defined(),
        type: string().oneOf(['function']).required(),
        function: object({ name: string().required(), arguments: string().defined() }).required(),
      }),
    )
    .min(1),
);

/** {provider: [model]}. */
const models = lazy((value: unknown) => {
  const entries = isFields(value) ? Object.entries(value) : [];
  const count = entries.reduce((sum, [, list]) => sum + (Array.isArray(list) ? list.length : 1), 0);
  if (count > modelsMax) return object().test('few', `must have at most ${modelsMax} models`, () => false);
  const lists = entries.map(([provider]) => [provider, array().of(name()).required()] as const);
  return object(Object.fromEntries(lists)).optional();
});

export const schemas: Record<WorkerFrame['type'], Schema> = {
  hello: object({
    name: plainName(),
    kind: string().oneOf(['cloud', 'local']).required(),
    providers: boundedList(namesMax, array().of(name()).min(1).required()),
    models,
    tags: boundedList(namesMax, array().of(name())),
    concurrency: number().integer().min(0).max(concurrencyMax).required(),
    version: string().max(nameLengthMax),
    host: string().max(nameLengthMax),
    instance: string().max(nameLengthMax),
    running: boundedList(concurrencyMax, leases),
    free: boundedList(namesMax, array().of(name())),
  }),
  heartbeat: object({ running: boundedList(concurrencyMax, leases.required()), models }),
  chunk: object({ ...lease, seq: number().integer().min(0).required(), text: string().defined() }),
  complete: object({
    ...lease,
    result: object({
      output: string().defined(),
      tool_calls: toolCalls,
      finish_reason: string().max(nameLengthMax),
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
      code: string().max(nameLengthMax),
      retry_after_seconds: number().min(0).max(millisecondsMax),
    }).required(),
    usage,
    begun: boolean(),
    model: modelName(),
  }),
  aborted: object({ ...lease, usage, model: modelName() }),
  release: object({ ...lease, begun: boolean() }),
  drain: object({}),
};

/** Read one text frame. @returns the frame, or in one sentence what is wrong with it. */
export const parseFrame = frameReader<WorkerFrame>(schemas, {
  depthMax: frameDepthMax,
  isPlain: isPlainFrame,
});

export function failureFromWire(wire: WireFailure): ReportedFailure {
  const { retry_after_seconds: seconds } = wire;
  return {
    class: wire.class,
    message: wire.message,
    status: wire.status ?? null,
    code: wire.code ?? null,
    retryAfterMs: seconds === undefined ? null : Math.ceil(seconds * 1000),
  };
}

/** Bytes of JSON; the largest that a provider is known to send takes 1 KiB. */
const rawUsageMax = 16 * 1024;

/** A provider's own form of the usage; one that is too large to be kept with every result is left out. */
export function keptRawUsage(raw: unknown): unknown {
  return raw === undefined || raw === null || JSON.stringify(raw).length > rawUsageMax ? undefined : raw;
}

/** null when the worker says neither input, output nor price of what was used: that is not the same as none. */
export function usageOrNull(wire: Partial<WireUsage> | undefined): Usage | null {
  if (wire === undefined) return null;
  const { input_tokens: input, output_tokens: output, cost_usd: cost } = wire;
  if (input === undefined && output === undefined && cost === undefined) return null;
  const usage = usageFromWire(wire);
  return input === undefined || output === undefined ? { ...usage, isPartial: true } : usage;
}
