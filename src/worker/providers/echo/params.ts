import { type ErrorClass, errorClasses } from '../../../domain/failure.ts';
import type { ToolCall } from '../../../domain/job.ts';
import { tokensMax } from '../../../domain/limits.ts';
import { statusMax, toolCallsMax, type WireFailure } from '../../../domain/workerProtocol.ts';

/** The parameters of the echo provider. See echo.ts for the meaning of each. */
export interface EchoParams {
  delayMs: number;
  /** null: spread over the delay as finely as the words allow. */
  chunkMs: number | null;
  fail: WireFailure | null;
  output: string | null;
  /** Streamed before the output. */
  reasoning: string;
  /** Streamed after the output. */
  toolCalls: readonly ToolCall[];
  tokens: { input: number; output: number } | null;
  /** null: no limit. */
  maxTokens: number | null;
}

const defaults: EchoParams = {
  delayMs: 0,
  chunkMs: null,
  fail: null,
  output: null,
  reasoning: '',
  toolCalls: [],
  tokens: null,
  maxTokens: null,
};

/** A day: longer than any test, short enough for a timer. */
const delayMsMax = 86_400_000;

/** The status that a provider would answer; the coordinator's wording follows from the class. */
const statusOf: Partial<Record<ErrorClass, number>> = {
  rate_limited: 429,
  quota_exhausted: 429,
  auth: 401,
  overloaded: 503,
  server_error: 500,
  model_not_found: 404,
  model_not_loaded: 503,
  context_overflow: 400,
  content_filtered: 400,
  invalid_request: 400,
};

/** An invalid parameter. `message` names it. */
export class EchoParamError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EchoParamError';
  }
}

/**
 * Parse `params`. Parameters without the prefix `echo_` are for real models and ignored, except `max_tokens`.
 * @throws EchoParamError for an unknown echo_* parameter or an invalid value.
 */
export function readEchoParams(params: Record<string, unknown>): EchoParams {
  let read = defaults;
  for (const key in params) {
    const value = params[key];
    if (value === undefined || value === null) continue;
    if (key === 'max_tokens') read = { ...read, maxTokens: count(value, key, 1, Number.MAX_SAFE_INTEGER) };
    else if (!key.startsWith('echo_')) continue;
    else if (key === 'echo_delay_ms') read = { ...read, delayMs: duration(value, key) };
    else if (key === 'echo_chunk_ms') read = { ...read, chunkMs: Math.max(1, duration(value, key)) };
    else if (key === 'echo_fail') read = { ...read, fail: failure(value) };
    else if (key === 'echo_output') read = { ...read, output: text(value, key) };
    else if (key === 'echo_reasoning') read = { ...read, reasoning: text(value, key) };
    else if (key === 'echo_tool_calls') read = { ...read, toolCalls: toolCalls(value, key) };
    else if (key === 'echo_tokens') read = { ...read, tokens: tokens(value) };
    else throw new EchoParamError(`unknown parameter ${key.slice(0, 100)}`);
  }
  return read;
}

function duration(value: unknown, key: string): number {
  if (typeof value === 'number' && value >= 0 && value <= delayMsMax) return value;
  throw new EchoParamError(`${key} must be a number of milliseconds from 0 to ${delayMsMax}`);
}

function count(value: unknown, key: string, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new EchoParamError(`${key} must be a whole number from ${least} to ${most}`);
}

function text(value: unknown, key: string): string {
  if (typeof value === 'string') return value;
  throw new EchoParamError(`${key} must be a string`);
}

function record(value: unknown, key: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new EchoParamError(`${key} must be an object`);
  }
  for (const member of Object.keys(value)) {
    if (!known.includes(member)) throw new EchoParamError(`unknown parameter ${key}.${member.slice(0, 100)}`);
  }
  return { ...value };
}

function toolCalls(value: unknown, key: string): ToolCall[] {
  if (!Array.isArray(value) || value.length > toolCallsMax) {
    throw new EchoParamError(`${key} must be a list of at most ${toolCallsMax} calls`);
  }
  return value.map((item: unknown, index) => {
    const { id, name, arguments: given = {} } = record(item, key, ['id', 'name', 'arguments']);
    const json = typeof given === 'string' ? given : JSON.stringify(given);
    const called = { name: text(name, `${key}.name`), arguments: json };
    return {
      id: id === undefined ? `call_${index}` : text(id, `${key}.id`),
      type: 'function',
      function: called,
    };
  });
}

function tokens(value: unknown): { input: number; output: number } {
  const { input, output } = record(value, 'echo_tokens', ['input', 'output']);
  return {
    input: count(input, 'echo_tokens.input', 0, tokensMax),
    output: count(output, 'echo_tokens.output', 0, tokensMax),
  };
}

function failureClass(value: unknown, key: string): ErrorClass {
  const found = errorClasses.find((name) => name === value && name !== 'worker_lost');
  if (found) return found;
  throw new EchoParamError(
    `${key} must be one of ${errorClasses.filter((name) => name !== 'worker_lost').join(', ')}`,
  );
}

function failure(value: unknown): WireFailure {
  const key = 'echo_fail';
  if (typeof value === 'string') return failureWith(failureClass(value, key), {});
  const given = record(value, key, ['class', 'message', 'status', 'code', 'retry_after_seconds']);
  return failureWith(failureClass(given.class, `${key}.class`), given);
}

function failureWith(errorClass: ErrorClass, given: Record<string, unknown>): WireFailure {
  const { message, status, code, retry_after_seconds: retryAfter } = given;
  return {
    class: errorClass,
    message:
      message === undefined
        ? `The job asked the echo to fail with ${errorClass}`
        : text(message, 'echo_fail.message'),
    status: status === undefined ? statusOf[errorClass] : count(status, 'echo_fail.status', 100, statusMax),
    code: code === undefined ? undefined : text(code, 'echo_fail.code'),
    retry_after_seconds:
      retryAfter === undefined ? undefined : seconds(retryAfter, 'echo_fail.retry_after_seconds'),
  };
}

function seconds(value: unknown, key: string): number {
  if (typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
  throw new EchoParamError(`${key} must be a number of seconds of at least 0`);
}
