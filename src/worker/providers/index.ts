import type { Logger } from '../../lib/log.ts';
import type { Provider } from '../provider.ts';
import { createEcho } from './echo.ts';
import { createOllama } from './ollama.ts';

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
  logger: Logger;
}

type ProviderFactory = (setup: ProviderSetup) => Provider;

/** Every adapter by its name. A new provider is one file and one line here. */
const providerFactories: Readonly<Record<string, ProviderFactory>> = {
  echo: createEcho,
  ollama: (setup) => createOllama(setup),
};

/** The names that `svc worker --provider` takes. */
export function providerNames(): string[] {
  return Object.keys(providerFactories);
}

/** The adapter called `setup.name`; null when there is none of that name. */
export function createProvider(setup: ProviderSetup): Provider | null {
  const factory = Object.hasOwn(providerFactories, setup.name) ? providerFactories[setup.name] : undefined;
  return factory ? factory(setup) : null;
}
