import type { Provider } from '../provider.ts';
import { createAnthropicProvider } from './anthropic.ts';
import { createEcho } from './echo.ts';
import { createGoogle } from './google.ts';
import { createOllama } from './ollama.ts';
import { createOpenAi } from './openAi.ts';
import { createOpenAiCompatibleProvider, localPresets } from './openAiCompatible.ts';
import { cloudPresets } from './presets.ts';
import type { ProviderSettings } from './providerSettings.ts';

type ProviderFactory = (settings: ProviderSettings) => Provider | null;

/** Every adapter by its name. A new provider is one file and one line here. */
const providerFactories: Readonly<Record<string, ProviderFactory>> = {
  echo: createEcho,
  openai: createOpenAi,
  anthropic: createAnthropicProvider,
  google: createGoogle,
  ollama: createOllama,
  ...Object.fromEntries(
    [...Object.keys(localPresets), ...Object.keys(cloudPresets)].map((name) => [
      name,
      createOpenAiCompatibleProvider,
    ]),
  ),
};

/** The names that `svc worker --provider` takes by themselves; every other name needs a `base_url`. */
export function providerNames(): string[] {
  return Object.keys(providerFactories);
}

/** What to configure for a provider that `createProvider` cannot make. */
export function missingAddress(name: string): string {
  const variable = cloudPresets[name]?.baseUrlVariable;
  return variable === undefined
    ? `unknown provider ${JSON.stringify(name)}; there are: ${providerNames().join(', ')}; any other that speaks OpenAI's protocol needs providers.${name}.base_url`
    : `${name} needs the address of your own resource: set ${variable}, or providers.${name}.base_url`;
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
