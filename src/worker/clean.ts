import { errorClasses } from '../domain/failure.ts';
import type { ToolCall } from '../domain/job.ts';
import { costUsdMax, nameLengthMax, tokensMax } from '../domain/limits.ts';
import type { WireUsage } from '../domain/usage.ts';
import {
  frameDepthMax,
  statusMax,
  toolCallsMax,
  type WireFailure,
  type WireResult,
} from '../domain/workerProtocol.ts';
import { isDeeperThan } from '../lib/jsonLimits.ts';
import type { ProviderResult } from './provider.ts';

/**
 * Brings the results of adapters into the form of the protocol. A coordinator refuses a malformed frame without an
 * acknowledgement, so the outbox would send it for ever: a NaN in some server's usage must not cause that.
 */

const messageMax = 2000;
/** It is nested in the result, and the result in the frame. */
const rawUsageDepthMax = frameDepthMax - 2;

const tokenKinds: readonly (keyof WireUsage)[] = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'total_tokens',
];

/** Invalid token counts are omitted: unknown, not 0. */
export function cleanUsage(usage: Partial<WireUsage> | undefined): Partial<WireUsage> | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const counts = tokenKinds
    .map((kind) => [kind, usage[kind]] as const)
    .filter(([, count]) => isWhole(count, tokensMax));
  const { cost_usd: cost } = usage;
  const isCost = typeof cost === 'number' && cost >= 0 && cost <= costUsdMax;
  const known = { ...Object.fromEntries(counts), ...(isCost ? { cost_usd: cost } : {}) };
  return Object.keys(known).length === 0 ? undefined : known;
}

/** The model of a run without an answer; omitted when no job could name it. */
export function cleanModel(model: string | null | undefined): string | undefined {
  return typeof model === 'string' && model !== '' && model.length <= nameLengthMax ? model : undefined;
}

/** @throws TypeError when the output is not text. */
export function cleanResult(result: ProviderResult): ProviderResult {
  const { output, tool_calls: calls, finish_reason: finish, model, usage, raw_usage } = result;
  if (typeof output !== 'string') throw new TypeError('the output is not text');
  const cleaned: Omit<WireResult, 'latency_ms'> = {
    output,
    ...cleanToolCalls(calls),
    finish_reason: typeof finish === 'string' ? finish.slice(0, nameLengthMax) : 'unknown',
    model: typeof model === 'string' && model.length <= nameLengthMax ? model : null,
    usage: cleanUsage(usage) ?? {},
  };
  return isEncodable(raw_usage) ? { ...cleaned, raw_usage } : cleaned;
}

/** The answer is worth more than the provider's own form of its usage, which is omitted when no frame can carry it. */
function isEncodable(rawUsage: unknown): boolean {
  if (rawUsage === undefined || rawUsage === null) return false;
  try {
    const json: unknown = JSON.stringify(rawUsage);
    return typeof json === 'string' && !isDeeperThan(json, rawUsageDepthMax);
  } catch {
    // It contains itself, for example.
    return false;
  }
}

/** Calls without a tool name are dropped. */
function cleanToolCalls(calls: readonly ToolCall[] = []): Pick<WireResult, 'tool_calls'> {
  const named = calls.filter(({ function: called }) => called.name !== '').slice(0, toolCallsMax);
  return named.length === 0 ? {} : { tool_calls: named };
}

/** An unknown class becomes `unknown`; long texts are cut. */
export function cleanFailure(error: WireFailure): WireFailure {
  const { class: errorClass, message, status, code, retry_after_seconds: retryAfter } = error;
  return {
    class: errorClasses.includes(errorClass) ? errorClass : 'unknown',
    message: String(message).slice(0, messageMax),
    status: isWhole(status, statusMax) ? status : undefined,
    code: typeof code === 'string' ? code.slice(0, nameLengthMax) : undefined,
    retry_after_seconds:
      retryAfter !== undefined && retryAfter >= 0 && retryAfter < 1e9 ? retryAfter : undefined,
  };
}

function isWhole(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
}
