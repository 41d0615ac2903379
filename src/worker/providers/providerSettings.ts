import type { ProviderApi } from '../../config/config.ts';
import type { Timeouts } from './http/timeoutWatch.ts';

/** The settings of an adapter. */
export interface ProviderSettings {
  /** The name used by jobs. */
  name: string;
  /** Its address, perhaps with a query, which is added to every request; null: the adapter's default. */
  baseUrl: string | null;
  /** null: the provider needs none, or its usual variable is not set. */
  apiKey: string | null;
  /** For jobs that name no model; null: the adapter's default. */
  model: string | null;
  /** Sent with every request; they replace headers of the adapter. */
  headers?: Readonly<Record<string, string>>;
  /** Its models, where it does not list them. */
  models?: readonly string[];
  /** For OpenAI's protocol; absent: chat completions. */
  api?: ProviderApi;
  /** Absent ones have their default. */
  timeouts?: Partial<Timeouts>;
}

/** Shorter values are not secrets, and occur in ordinary sentences. */
const secretLengthMin = 8;

/** The values that no message or log may contain: the key, and the configured headers. */
export function secretsOf({ apiKey, headers = {} }: Pick<ProviderSettings, 'apiKey' | 'headers'>): string[] {
  const values = Object.values(headers).filter(({ length }) => length >= secretLengthMin);
  return apiKey === null || apiKey === '' ? values : [apiKey, ...values];
}
