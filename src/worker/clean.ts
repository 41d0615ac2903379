import { errorClasses } from '../domain/failure.ts';
import type { WireUsage } from '../domain/usage.ts';
import type { ToolCall, WireFailure, WireResult } from '../domain/workerProtocol.ts';
import type { ProviderResult } from './provider.ts';

/**
 * What adapters hand over, brought into the form of the protocol. A coordinator refuses a frame of another form
 * without an acknowledgement, and the outbox would offer it for ever: a NaN from some server's usage must not do that.
 */

const textMax = 200;
const messageMax = 2000;
const toolCallsMax = 1000;

const tokenKinds: readonly (keyof WireUsage)[] = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'total_tokens',
];

/** Token counts that are none are left out: unknown, not 0. */
export function cleanUsage(usage: Partial<WireUsage> | undefined): Partial<WireUsage> | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const counts = tokenKinds
    .map((kind) => [kind, usage[kind]] as const)
    .filter(([, count]) => isTokenCount(count));
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

/** @throws TypeError when the output is no text: nothing can be made of that. */
export function cleanResult(result: ProviderResult): ProviderResult {
  const { output, tool_calls: calls, finish_reason: finish, model, usage, raw_usage } = result;
  if (typeof output !== 'string') throw new TypeError('the output is no text');
  const cleaned: Omit<WireResult, 'latency_ms'> = {
    output,
    ...cleanToolCalls(calls),
    finish_reason: typeof finish === 'string' ? finish.slice(0, textMax) : 'unknown',
    model: typeof model === 'string' ? model : null,
    usage: cleanUsage(usage) ?? {},
  };
  return raw_usage === undefined ? cleaned : { ...cleaned, raw_usage };
}

/** A model that calls a tool without a name has called none. */
function cleanToolCalls(calls: readonly ToolCall[] = []): Pick<WireResult, 'tool_calls'> {
  const named = calls.filter(({ function: called }) => called.name !== '').slice(0, toolCallsMax);
  return named.length === 0 ? {} : { tool_calls: named };
}

/** A class that does not exist becomes `unknown`; texts are cut short. */
export function cleanFailure(error: WireFailure): WireFailure {
  const { class: errorClass, message, status, code, retry_after_seconds: retryAfter } = error;
  return {
    class: errorClasses.includes(errorClass) ? errorClass : 'unknown',
    message: String(message).slice(0, messageMax),
    status: Number.isSafeInteger(status) ? status : undefined,
    code: typeof code === 'string' ? code.slice(0, textMax) : undefined,
    retry_after_seconds:
      retryAfter !== undefined && retryAfter >= 0 && retryAfter < 1e9 ? retryAfter : undefined,
  };
}

function isTokenCount(count: unknown): boolean {
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
}
