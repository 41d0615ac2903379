import { cloudPresets } from './presets.ts';

/** Providers with an adapter of their own. */
export const adapterNames = ['echo', 'openai', 'anthropic', 'google', 'ollama'] as const;

/** Local servers with OpenAI's protocol, known by name. */
export const localPresetNames = ['lmstudio', 'llamacpp', 'vllm'] as const;

/**
 * The names that `svc worker --provider` knows; every other name needs a `base_url`. Separate from the adapters, which
 * load the providers' SDKs: the command line lists these names in its help.
 */
export function providerNames(): string[] {
  return [...adapterNames, ...localPresetNames, ...Object.keys(cloudPresets)];
}
