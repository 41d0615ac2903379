import type { IncomingHttpHeaders } from 'node:http';

/** The parts of an error that may say how long to wait. */
export interface Hints {
  headers: IncomingHttpHeaders;
  /** The `details` of an error of Google's APIs; else empty. */
  details: readonly unknown[];
  /** The provider's message. */
  message: string;
}

/**
 * How long a provider asks to wait, seconds; null when it does not say. The forms, the most exact first:
 * - `retry-after-ms` (OpenAI), `x-ms-retry-after-ms` (Azure);
 * - `retry-after`: seconds or a date (RFC 9110, 10.2.3);
 * - `google.rpc.RetryInfo` in the body: `{"@type": "…RetryInfo", "retryDelay": "37s"}`;
 * - `x-ratelimit-reset-requests`, `-tokens`: a duration such as `6s`, `1m2s`, `120ms` (OpenAI, Groq, vLLM's gateways);
 *   `anthropic-ratelimit-…-reset`: RFC 3339; `x-ratelimit-reset`: epoch milliseconds or seconds (OpenRouter). Of those,
 *   the limits that are used up count, else all, and the last of them to end;
 * - "try again in 1m2.5s" in the message (OpenAI, Groq).
 * Times are read by the provider's own clock, where its answer has a `Date`.
 * @param ownNow this machine's clock, epoch ms.
 */
export function retryAfterSeconds({ headers, details, message }: Hints, ownNow: number): number | null {
  const sent = Date.parse(headers.date ?? '');
  const now = Number.isNaN(sent) ? ownNow : sent;
  return (
    milliseconds(headers['retry-after-ms']) ??
    milliseconds(headers['x-ms-retry-after-ms']) ??
    secondsOrDate(headers['retry-after'], now) ??
    retryInfo(details) ??
    usedUpReset(headers, now) ??
    duration(/try again in ((?:[\d.]+ ?(?:ms|h|m|s|seconds?|minutes?) ?)+)/i.exec(message)?.[1])
  );
}

function milliseconds(value: string | string[] | undefined): number | null {
  const ms = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : null;
  return ms === null ? null : ms / 1000;
}

function secondsOrDate(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^-?\d+(\.\d+)?$/.test(text)) return Math.max(0, Number(text));
  return duration(text) ?? until(Date.parse(text), now);
}

/** @param at epoch ms, or NaN. */
function until(at: number, now: number): number | null {
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1000);
}

const unitSeconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** `1h2m3.5s`, `120ms`, `37s`, `2 minutes`; null when it is none. */
function duration(value: string | undefined): number | null {
  const text = value?.trim().replace(/\.$/, '') ?? '';
  if (!/^(\d+(\.\d+)?\s*(ms|d|h|m|s|seconds?|minutes?)\s*)+$/i.test(text)) return null;
  let sum = 0;
  for (const [, number, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[dhms])/gi)) {
    sum += Number(number) * (unitSeconds[unit.toLowerCase()] ?? 0);
  }
  return sum;
}

/** https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto, RetryInfo. */
function retryInfo(details: readonly unknown[]): number | null {
  for (const detail of details) {
    if (typeof detail !== 'object' || detail === null || !('retryDelay' in detail)) continue;
    if (typeof detail.retryDelay === 'string') return duration(detail.retryDelay);
  }
  return null;
}

const resetHeader = /^(?:(anthropic-ratelimit-.+)-reset|(x-ratelimit)-reset(-.+)?)$/;

function usedUpReset(headers: IncomingHttpHeaders, now: number): number | null {
  const usedUp: number[] = [];
  const others: number[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const [isReset, anthropic, , dimension = ''] = resetHeader.exec(name) ?? [];
    if (isReset === undefined || typeof value !== 'string') continue;
    const wait = resetIn(value.trim(), now);
    if (wait === null) continue;
    const of = anthropic === undefined ? `x-ratelimit-remaining${dimension}` : `${anthropic}-remaining`;
    (headers[of] === '0' ? usedUp : others).push(wait);
  }
  const counted = usedUp.length > 0 ? usedUp : others;
  return counted.length === 0 ? null : Math.max(...counted);
}

/** A large number is a time, else seconds. */
function resetIn(value: string, now: number): number | null {
  if (!/^\d+(\.\d+)?$/.test(value)) return duration(value) ?? until(Date.parse(value), now);
  const number = Number(value);
  if (number > 1e11) return until(number, now);
  return number > 1e9 ? until(number * 1000, now) : number;
}
