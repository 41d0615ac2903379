import { silent } from '../../../src/lib/log.ts';
import type { Provider } from '../../../src/worker/provider.ts';
import { createProvider, type ProviderSetup } from '../../../src/worker/providers/index.ts';

/** A key whose every appearance would be seen. */
export const providerKey = 'sk-test-a-key-that-must-stay-secret-0123456789';

/** The adapter called `name`, as `svc worker` makes it. @throws Error when there is none. */
export function adapter(setup: Partial<ProviderSetup> & { name: string }): Provider {
  const provider = createProvider({
    baseUrl: null,
    apiKey: providerKey,
    model: null,
    logger: silent,
    ...setup,
  });
  if (provider === null) throw new Error(`there is no adapter ${setup.name}`);
  return provider;
}
