import type { Logger } from '../../lib/log.ts';
import type { Provider } from '../provider.ts';
import { createAnthropicProvider } from './anthropic.ts';
import { createEcho } from './echo.ts';
import { createGoogle } from './google.ts';
import { createOllama } from './ollama.ts';
import { createOpenAi } from './openAi.ts';
import { createOpenAiCompatibleProvider, localPresets } from './openAiCompatible.ts';
import type { Timeouts } from './patience.ts';

/** What an adapter is made from. */
export interface ProviderSetup {
  /** The name that jobs ask for. */
  name: string;
  /** Where to find it; null: the adapter's default. */
  baseUrl: string | null;
  /** null: the provider needs none, or its usual variable is not set. */
  apiKey: string | null;
  /** For jobs that name no model; null: the adapter's own choice. */
  model: string | null;
  /** `openai` only; default chat. */
  api?: 'chat' | 'responses' | null;
  /** What is left out has its default. */
  timeouts?: Partial<Timeouts>;
  logger: Logger;
}

type ProviderFactory = (setup: ProviderSetup) => Provider | null;

/** Every adapter by its name. A new provider is one file and one line here. */
const providerFactories: Readonly<Record<string, ProviderFactory>> = {
  echo: createEcho,
  openai: createOpenAi,
  anthropic: createAnthropicProvider,
  google: createGoogle,
  ollama: createOllama,
  ...Object.fromEntries(Object.keys(localPresets).map((name) => [name, createOpenAiCompatibleProvider])),
};

/** The names that `svc worker --provider` takes by themselves; every other name needs a `base_url`. */
export function providerNames(): string[] {
  return Object.keys(providerFactories);
}

/**
 * The adapter called `setup.name`; any other name speaks OpenAI's protocol with its `baseUrl`.
 * @returns null when there is none of that name and no address.
 */
export function createProvider(setup: ProviderSetup): Provider | null {
  const factory = Object.hasOwn(providerFactories, setup.name) ? providerFactories[setup.name] : undefined;
  return (factory ?? createOpenAiCompatibleProvider)(setup);
}
