import type { ProviderSettings } from '../worker/providers/providerSettings.ts';
import type { CompanionSettings } from './settings.ts';
import type { FoundServer } from './state.ts';

/** Model servers that are looked for on their usual ports. */
const localNames = ['ollama', 'lmstudio', 'llamacpp', 'vllm'] as const;
const modelsShownMax = 50;
/** On this machine an answer takes milliseconds. */
const timeoutMs = 3_000;

/**
 * The local model servers of this machine, each with its models, and the providers that the worker serves. Nothing but
 * their lists of models is requested.
 */
export async function findServers(settings: CompanionSettings | null): Promise<FoundServer[]> {
  // The adapters with their SDKs take most of a second to load.
  const { createProvider } = await import('../worker/providers/index.ts');
  const served = settings?.providers ?? [];
  const names = [...new Set([...localNames, ...served])];
  return Promise.all(
    names.map(async (name) => {
      const isServed = served.includes(name);
      // The key of a cloud provider is the worker's business.
      if (!isLocal(name)) return { name, isServed, models: [] };
      const provider = createProvider({
        name,
        baseUrl: settings?.addresses[name] ?? null,
        apiKey: null,
        model: null,
        timeouts: { connectMs: timeoutMs, firstMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs },
      } satisfies ProviderSettings);
      const models = (await provider?.probe().catch(() => null)) ?? null;
      return { name, isServed, models: models?.slice(0, modelsShownMax) ?? null };
    }),
  );
}

function isLocal(name: string): boolean {
  return localNames.some((local) => local === name);
}
