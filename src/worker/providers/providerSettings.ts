import type { ProviderApi } from '../../config/config.ts';
import type { Timeouts } from './http/patience.ts';

/** What an adapter is made from. */
export interface ProviderSettings {
  /** The name that jobs ask for. */
  name: string;
  /** Where to find it, also with a query, which goes along with every request; null: the adapter's default. */
  baseUrl: string | null;
  /** null: the provider needs none, or its usual variable is not set. */
  apiKey: string | null;
  /** For jobs that name no model; null: the adapter's own choice. */
  model: string | null;
  /** Sent with every request; a header that the adapter sends itself is replaced. */
  headers?: Readonly<Record<string, string>>;
  /** What it has, where it does not list its models. */
  models?: readonly string[];
  /** Of those that speak OpenAI's protocol; left out: chat completions. */
  api?: ProviderApi;
  /** What is left out has its default. */
  timeouts?: Partial<Timeouts>;
}

/** Shorter values are no secrets, and stand in many a sentence. */
const secretLengthMin = 8;

/** What must stand in no message and no log: the key, and the values of the configured headers. */
export function secretsOf({ apiKey, headers = {} }: Pick<ProviderSettings, 'apiKey' | 'headers'>): string[] {
  const values = Object.values(headers).filter(({ length }) => length >= secretLengthMin);
  return apiKey === null || apiKey === '' ? values : [apiKey, ...values];
}
