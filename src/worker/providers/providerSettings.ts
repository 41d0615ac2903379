import type { ProviderApi } from '../../config/config.ts';
import type { Timeouts } from './http/patience.ts';

/** What an adapter is made from. */
export interface ProviderSettings {
  /** The name that jobs ask for. */
  name: string;
  /** Where to find it; null: the adapter's default. */
  baseUrl: string | null;
  /** null: the provider needs none, or its usual variable is not set. */
  apiKey: string | null;
  /** For jobs that name no model; null: the adapter's own choice. */
  model: string | null;
  /** `openai` only; left out: chat completions. */
  api?: ProviderApi;
  /** What is left out has its default. */
  timeouts?: Partial<Timeouts>;
}
