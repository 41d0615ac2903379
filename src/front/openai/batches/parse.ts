import { hash } from 'node:crypto';
import type { BatchKey, NewBatch } from '../../../coordinator/batches/index.ts';
import { batchLinesMax } from '../../../domain/batch.ts';
import { webhookUrlMax } from '../../../domain/webhook.ts';
import { canonicalJson } from '../../../lib/canonicalJson.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { invalidField } from '../errors.ts';
import { fileOf } from '../ids.ts';
import { isGiven } from '../request.ts';
import { endpointNames, endpoints } from './endpoint.ts';
import {
  keptSecondsMax,
  keptSecondsMin,
  maxCostMax,
  metadataKeyMax,
  metadataMax,
  metadataValueMax,
  windowPattern,
} from './fields.ts';

const dayMs = 86_400_000;
/** How long output files are kept unless the client says so, ms. */
const keptDefault = 30 * dayMs;
const windowMsMin = 60_000;
const windowMsMax = 30 * dayMs;
const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: dayMs } as const;

/** A batch as it was asked for: a file, or its lines. */
export interface AskedBatch {
  batch: Omit<NewBatch, 'inputFileId'>;
  /** null when the lines are in the request. */
  inputFileId: string | null;
  requests: Fields[];
}

/** The body of POST /v1/batches. @param key as `parseIdempotencyKey` makes it. @throws OpenAiError. */
export function parseBatch(body: unknown, key: string | null): AskedBatch {
  const fields: Fields = isFields(body) ? body : {};
  const { endpoint } = fields;
  const window = fields.completion_window ?? '24h';
  if (typeof endpoint !== 'string' || !Object.hasOwn(endpoints, endpoint))
    throw invalidField('endpoint', `must be one of ${endpointNames.join(', ')}`);
  const windowMs = windowMsOf(window);
  return {
    ...sourceOf(fields),
    batch: {
      endpoint,
      window: String(window),
      windowMs,
      outputKeptMs: outputKeptMsOf(fields.output_expires_after),
      metadata: metadataOf(fields.metadata),
      ...(isGiven(fields.webhook) ? { webhook: webhookOf(fields.webhook) } : {}),
      limits: {
        maxCost: nanoDollarsOf(fields.max_cost_usd),
        maxFailures: countOf(fields.max_failures),
      },
      key: batchKey(key, fields),
    },
  };
}

/** @param key as `parseIdempotencyKey` makes it. @param asked what it stands for, as JSON. */
export function batchKey(key: string | null, asked: unknown): BatchKey | null {
  return key === null ? null : { hash: hash('sha256', key), bodyHash: hash('sha256', canonicalJson(asked)) };
}

function sourceOf({ input_file_id: id, requests }: Fields): Pick<AskedBatch, 'inputFileId' | 'requests'> {
  if (isGiven(id) === isGiven(requests))
    throw invalidField('input_file_id', 'is required, or requests in its place');
  if (isGiven(id)) {
    const inputFileId = typeof id === 'string' ? fileOf(id) : null;
    if (inputFileId === null) throw invalidField('input_file_id', 'must be the id of a file');
    return { inputFileId, requests: [] };
  }
  const isRight = Array.isArray(requests) && requests.length > 0 && requests.every(isFields);
  if (!isRight) throw invalidField('requests', 'must be a list of objects');
  if (requests.length > batchLinesMax)
    throw invalidField('requests', `must have at most ${batchLinesMax} requests`);
  return { inputFileId: null, requests };
}

/** `24h`, as at OpenAI, or any other time between a minute and 30 days. */
function windowMsOf(window: unknown): number {
  const [, count = '', unit = 'h'] = typeof window === 'string' ? (windowPattern.exec(window) ?? []) : [];
  const ms = Number(count) * unitMs[unit as keyof typeof unitMs];
  if (count !== '' && ms >= windowMsMin && ms <= windowMsMax) return ms;
  throw invalidField('completion_window', 'must be 24h, or another time from 60s to 30d in s, m, h or d');
}

function outputKeptMsOf(after: unknown): number {
  if (!isGiven(after)) return keptDefault;
  const { anchor = 'created_at', seconds } = isFields(after) ? after : {};
  if (anchor !== 'created_at') throw invalidField('output_expires_after.anchor', 'must be created_at');
  const isRight =
    typeof seconds === 'number' &&
    Number.isInteger(seconds) &&
    seconds >= keptSecondsMin &&
    seconds <= keptSecondsMax;
  if (isRight) return seconds * 1000;
  const rule = `must be a whole number from ${keptSecondsMin} to ${keptSecondsMax}`;
  throw invalidField('output_expires_after.seconds', rule);
}

function metadataOf(metadata: unknown): Record<string, string> {
  if (!isGiven(metadata)) return {};
  if (!isFields(metadata)) throw invalidField('metadata', 'must be an object');
  const entries = Object.entries(metadata);
  if (entries.length > metadataMax)
    throw invalidField('metadata', `must have at most ${metadataMax} entries`);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (name.length > metadataKeyMax)
        throw invalidField('metadata', `must have names of at most ${metadataKeyMax} characters`);
      if (typeof value !== 'string' || value.length > metadataValueMax)
        throw invalidField(`metadata.${name}`, `must be a text of at most ${metadataValueMax} characters`);
      return [name, value];
    }),
  );
}

/** Whether there is such a webhook is checked with the batch. */
function webhookOf(webhook: unknown): string {
  if (typeof webhook === 'string' && webhook !== '' && webhook.length <= webhookUrlMax) return webhook;
  throw invalidField('webhook', 'must be the name of a webhook, or an allowed URL');
}

function nanoDollarsOf(dollars: unknown): number | null {
  if (!isGiven(dollars)) return null;
  if (typeof dollars === 'number' && dollars >= 0 && dollars <= maxCostMax) return Math.round(dollars * 1e9);
  throw invalidField('max_cost_usd', `must be a number from 0 to ${maxCostMax}`);
}

function countOf(count: unknown): number | null {
  if (!isGiven(count)) return null;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1) return count;
  throw invalidField('max_failures', 'must be a whole number from 1');
}
