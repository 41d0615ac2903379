import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../../config/config.ts';
import type { JobRequest } from '../../../domain/job.ts';
import { parseDispatch } from '../../../http/routes/jobs/schema.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { invalidField, OpenAiError } from '../errors.ts';

/** A chat completion as it was asked for. */
export interface ChatRequest {
  /** As the client named it. */
  model: string;
  /** Its provider and model are not decided yet. */
  job: JobRequest;
  isStream: boolean;
  /** Whether the stream ends with a chunk of usage. */
  hasUsage: boolean;
  /** Whether the job goes on when its client hangs up. */
  outlivesClient: boolean;
}

/** Fields that the door reads itself. */
const ownFields = ['model', 'messages', 'stream', 'stream_options', 'service_tier'];

/** Fields that stay with the job as metadata and are sent to no provider. */
const kept = ['user', 'safety_identifier'] as const;

/** Fields that mean nothing here: every job is stored. */
const ignored = ['metadata', 'store', ...kept];

const isFalse = (value: unknown): boolean => value === false;

/** Fields that are refused unless they ask for nothing, so that nobody takes one answer for several. */
const refused: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  logprobs: isFalse,
  top_logprobs: (value) => value === 0,
  modalities: (value) => Array.isArray(value) && value.every((one) => one === 'text'),
  audio: isFalse,
  prediction: isFalse,
  web_search_options: isFalse,
  functions: (value) => Array.isArray(value) && value.length === 0,
  function_call: isFalse,
};

/** @throws OpenAiError, CoordinatorError invalid_request. */
export function parseChat(body: unknown, headers: IncomingHttpHeaders, config: Config): ChatRequest {
  const fields: Fields = isFields(body) ? body : {};
  const { model, stream, stream_options: options } = fields;
  if (typeof model !== 'string' || model === '') throw invalidField('model', 'must name a model');
  if (!isGiven(fields.messages)) throw invalidField('messages', 'is required');
  if (!isSwitch(stream)) throw invalidField('stream', 'must be true or false');
  if (isGiven(options) && !isFields(options)) throw invalidField('stream_options', 'must be an object');
  const hasUsage = isFields(options) && options.include_usage === true;
  const served = tierOf(fields.service_tier, config);
  const priority = headerOf(headers, 'x-svc-priority');
  const job = parseDispatch(
    {
      messages: fields.messages,
      params: paramsOf(fields),
      metadata: metadataOf(fields),
      tags: tagsOf(headers),
      tier: served.tier,
      priority: priority ?? served.priority,
      timeout_seconds: secondsOf(headers),
    },
    config,
  );
  const onDisconnect = headerOf(headers, 'x-svc-on-disconnect');
  if (onDisconnect !== null && onDisconnect !== 'cancel' && onDisconnect !== 'continue')
    throw invalidField('x-svc-on-disconnect', 'must be cancel or continue');
  return { model, job, isStream: stream === true, hasUsage, outlivesClient: onDisconnect === 'continue' };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const isSwitch = (value: unknown): boolean => !isGiven(value) || typeof value === 'boolean';

/** All that the provider is asked for, unknown fields too. null is the same as left out. */
function paramsOf(fields: Fields): Record<string, unknown> {
  const params: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!isGiven(value) || ownFields.includes(name) || ignored.includes(name)) continue;
    const asksNothing = Object.hasOwn(refused, name) ? refused[name] : undefined;
    if (asksNothing === undefined) params.push([name, value]);
    else if (!asksNothing(value)) throw unsupported(name);
  }
  return Object.fromEntries(params);
}

function unsupported(name: string): OpenAiError {
  const hint = name === 'n' ? ': a job has one answer, send several requests' : '';
  const facts = { status: 400, param: name, code: 'unsupported_parameter' };
  return new OpenAiError(`${name} is not supported here${hint}`, facts);
}

function metadataOf(fields: Fields): Record<string, unknown> {
  const { metadata } = fields;
  if (isGiven(metadata) && !isFields(metadata)) throw invalidField('metadata', 'must be an object');
  const named = kept.flatMap((name) =>
    typeof fields[name] === 'string' ? [[`openai.${name}`, fields[name]]] : [],
  );
  return { ...(isFields(metadata) ? metadata : {}), ...Object.fromEntries(named) };
}

/** OpenAI's tiers as ours; any other word is a tier of the configuration's own rules. */
function tierOf(tier: unknown, { jobs }: Config): { tier: string | null; priority: string | null } {
  const labelled = (label: string) => (Object.hasOwn(jobs.priorities, label) ? label : null);
  if (!isGiven(tier) || tier === 'auto' || tier === 'default') return { tier: null, priority: null };
  if (tier === 'priority') return { tier: null, priority: labelled('high') };
  if (tier === 'flex' || tier === 'batch') return { tier: 'batch', priority: labelled('low') };
  if (typeof tier === 'string') return { tier, priority: null };
  throw invalidField('service_tier', 'must be a string');
}

/** A header that may be given once; null for none. */
function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function tagsOf(headers: IncomingHttpHeaders): string[] {
  const words = (headerOf(headers, 'x-svc-tags') ?? '').split(',').map((word) => word.trim());
  return [...new Set(words)].filter((word) => word !== '');
}

function secondsOf(headers: IncomingHttpHeaders): number | null {
  const text = headerOf(headers, 'x-svc-timeout-seconds');
  if (text === null) return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw invalidField('x-svc-timeout-seconds', 'must be a number of seconds');
}
