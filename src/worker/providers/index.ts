import { own } from '../../lib/own.ts';
import type { Provider } from '../provider.ts';
import { createAnthropicProvider } from './anthropic.ts';
import { createEcho } from './echo.ts';
import { createGoogle } from './google.ts';
import { type adapterNames, providerNames } from './names.ts';
import { createOllama } from './ollama.ts';
import { createOpenAi } from './openAi.ts';
import { createOpenAiCompatibleProvider } from './openAiCompatible.ts';
import { cloudPresets } from './presets.ts';
import type { ProviderSettings } from './providerSettings.ts';

type ProviderFactory = (settings: ProviderSettings) => Provider | null;

/** A new adapter is one file, one name in `names.ts` and one line here. */
const adapters: Readonly<Record<(typeof adapterNames)[number], ProviderFactory>> = {
  echo: createEcho,
  openai: createOpenAi,
  anthropic: createAnthropicProvider,
  google: createGoogle,
  ollama: createOllama,
};

/** What to configure for a provider that `createProvider` cannot create. */
export function missingAddress(name: string): string {
  const variable = cloudPresets[name]?.baseUrlVariable;
  return variable === undefined
    ? `unknown provider ${JSON.stringify(name)}; there are: ${providerNames().join(', ')}; any other with OpenAI's protocol needs providers.${name}.base_url`
    : `${name} needs the address of your own resource: set ${variable}, or providers.${name}.base_url`;
}

/**
 * The adapter called `settings.name`; for any other name OpenAI's protocol at its `baseUrl`.
 * @returns null when there is no such adapter and no address.
 */
export function createProvider(settings: ProviderSettings): Provider | null {
  const create = own<ProviderFactory>(adapters, settings.name) ?? createOpenAiCompatibleProvider;
  return create(settings);
}
