import { cloudPresets } from './presets.ts';

/** Providers with an adapter of their own. */
export const adapterNames = ['echo', 'openai', 'anthropic', 'google', 'ollama'] as const;

/** Local servers that speak OpenAI's protocol and are found by their name alone. */
export const localPresetNames = ['lmstudio', 'llamacpp', 'vllm'] as const;

/**
 * The names that `svc worker --provider` takes by themselves; every other name needs a `base_url`. Apart from the
 * adapters, which load the providers' SDKs: the command line names providers in its help.
 */
export function providerNames(): string[] {
  return [...adapterNames, ...localPresetNames, ...Object.keys(cloudPresets)];
}
