import type { Provider } from '../../../src/worker/provider.ts';
import { createProvider } from '../../../src/worker/providers/index.ts';
import type { ProviderSettings } from '../../../src/worker/providers/providerSettings.ts';

/** A key whose every appearance would be seen. */
export const providerKey = 'sk-test-a-key-that-must-stay-secret-0123456789';

/** The adapter called `name`, as `svc worker` makes it. @throws Error when there is none. */
export function adapter(settings: Partial<ProviderSettings> & { name: string }): Provider {
  const provider = createProvider({
    baseUrl: null,
    apiKey: providerKey,
    model: null,
    ...settings,
  });
  if (provider === null) throw new Error(`there is no adapter ${settings.name}`);
  return provider;
}
