import type { Provider } from '../provider.ts';
import { createAnthropicProvider } from './anthropic.ts';
import { createEcho } from './echo.ts';
import { createGoogle } from './google.ts';
import { createOllama } from './ollama.ts';
import { createOpenAi } from './openAi.ts';
import { createOpenAiCompatibleProvider, localPresets } from './openAiCompatible.ts';
import type { ProviderSettings } from './providerSettings.ts';

type ProviderFactory = (settings: ProviderSettings) => Provider | null;

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
 * The adapter called `settings.name`; any other name speaks OpenAI's protocol with its `baseUrl`.
 * @returns null when there is none of that name and no address.
 */
export function createProvider(settings: ProviderSettings): Provider | null {
  const factory = Object.hasOwn(providerFactories, settings.name)
    ? providerFactories[settings.name]
    : undefined;
  return (factory ?? createOpenAiCompatibleProvider)(settings);
}
