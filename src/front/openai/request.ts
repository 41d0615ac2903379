/* What the bodies and headers of all forms of requests have in common. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../config/config.ts';
import { type Fields, fieldsOf, isFields } from '../../lib/fields.ts';
import { own } from '../../lib/own.ts';
import { invalidField, OpenAiError } from './errors.ts';
import type { BodyFields } from './fields.ts';

/** Fields that stay with the job as metadata and are sent to no provider. */
const kept = ['user', 'safety_identifier'] as const;

/** Their names among the metadata begin with it. */
export const keptPrefix = 'openai.';

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** @throws OpenAiError unless it is true, false or left out. */
export function switchOf(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (isGiven(value) && typeof value !== 'boolean') throw invalidField(name, 'must be true or false');
  return value === true;
}

/** @throws OpenAiError. */
export function modelOf({ model }: Fields): string {
  if (typeof model === 'string' && model !== '') return model;
  throw invalidField('model', 'must name a model');
}

/**
 * The fields that the provider is asked for in the same form, unknown ones too. null is the same as left out.
 * @throws OpenAiError unsupported_parameter for one that is refused.
 */
export function passedOn(fields: Fields, table: BodyFields): Record<string, unknown> {
  const params: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!isGiven(value)) continue;
    const field = own(table, name);
    const treatment = field?.treatment ?? 'passed_on';
    if (treatment === 'refused' && field?.asksNothing?.(value) !== true) throw unsupported(name, field?.hint);
    if (treatment === 'passed_on' && field?.passedAs === undefined) params.push([name, value]);
  }
  return Object.fromEntries(params);
}

/** The members of a dispatch that neither the messages nor the params decide. @throws OpenAiError. */
export function surroundingsOf(fields: Fields, headers: IncomingHttpHeaders, config: Config) {
  const served = tierOf(fields.service_tier, config);
  return {
    metadata: metadataOf(fields),
    tags: tagsOf(headers),
    tier: served.tier,
    priority: headerOf(headers, 'x-svc-priority') ?? served.priority,
    timeout_seconds: secondsOf(headers),
  };
}

/** Whether the job continues when its client hangs up. @throws OpenAiError. */
export function outlivesClient(headers: IncomingHttpHeaders): boolean {
  const onDisconnect = headerOf(headers, 'x-svc-on-disconnect');
  if (onDisconnect !== null && onDisconnect !== 'cancel' && onDisconnect !== 'continue')
    throw invalidField('x-svc-on-disconnect', 'must be cancel or continue');
  return onDisconnect === 'continue';
}

/** @param hint what to do in its place. */
export function unsupported(name: string, hint = ''): OpenAiError {
  const facts = { status: 400, param: name, code: 'unsupported_parameter' };
  return new OpenAiError(`${name} is not supported here${hint === '' ? '' : `: ${hint}`}`, facts);
}

function metadataOf(fields: Fields): Record<string, unknown> {
  const { metadata } = fields;
  if (isGiven(metadata) && !isFields(metadata)) throw invalidField('metadata', 'must be an object');
  const reserved = Object.keys(fieldsOf(metadata)).find((name) => name.startsWith(keptPrefix));
  if (reserved !== undefined)
    throw invalidField(`metadata.${reserved}`, `must not begin with ${keptPrefix}, which SVC uses itself`);
  const named = kept.flatMap((name) =>
    typeof fields[name] === 'string' ? [[keptPrefix + name, fields[name]]] : [],
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
