import { apiKeyProblem } from '../config/environment.ts';
import type { Fields } from '../lib/fields.ts';
import { BadRequest } from './server.ts';
import type { SettingsChange } from './settings.ts';
import { type RunMode, runModes } from './state.ts';

const textMax = 2_000;
const providersMax = 20;
const concurrencyMax = 1_000;

/** An address and a key to test. `apiKey` null: the one of the settings. */
export function parseConnection(body: Fields): { coordinator: string; apiKey: string | null } {
  return {
    coordinator: parseAddress(body.coordinator),
    apiKey: body.key === undefined ? null : parseKey(body.key),
  };
}

/** The settings that the page changes; absent ones stay. */
export function parseChange(body: Fields): SettingsChange {
  const change: Record<string, string | number | readonly string[] | null> = {};
  if (body.coordinator !== undefined) change['worker.coordinator'] = parseAddress(body.coordinator);
  if (body.key !== undefined) change['worker.api_key'] = parseKey(body.key);
  if (body.name !== undefined) change['worker.name'] = textOf(body.name, 'name');
  if (body.concurrency !== undefined) change['worker.concurrency'] = parseSlots(body.concurrency);
  if (body.providers !== undefined) change['worker.providers'] = parseProviders(body.providers);
  if (Object.keys(change).length === 0) throw new BadRequest('name at least one setting');
  return change;
}

export function parseMode({ mode }: Fields): RunMode {
  const known = runModes.find((one) => one === mode);
  if (known === undefined) throw new BadRequest(`mode must be one of ${runModes.join(', ')}`);
  return known;
}

export function parseFlag(body: Fields, name: string): boolean {
  const value = body[name];
  if (typeof value !== 'boolean') throw new BadRequest(`${name} must be true or false`);
  return value;
}

function parseAddress(value: unknown): string {
  const text = textOf(value, 'address');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new BadRequest('The address must be like http://192.168.1.20:7420.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new BadRequest('The address must not have a user name or a password.');
  }
  return text;
}

function parseKey(value: unknown): string {
  const key = textOf(value, 'key');
  const problem = apiKeyProblem(key);
  if (problem !== null) throw new BadRequest(`The key ${problem}.`);
  return key;
}

function parseSlots(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= concurrencyMax)
    return value;
  throw new BadRequest(`The slots must be a whole number from 0 to ${concurrencyMax}.`);
}

function parseProviders(value: unknown): string[] {
  if (!Array.isArray(value) || value.length > providersMax) {
    throw new BadRequest(`The providers must be a list of at most ${providersMax} names.`);
  }
  return value.map((name) => textOf(name, 'name of a provider'));
}

function textOf(value: unknown, what: string): string {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text !== '' && text.length <= textMax) return text;
  throw new BadRequest(`The ${what} must be a text of 1 to ${textMax} characters.`);
}
