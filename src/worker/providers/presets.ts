/** A cloud provider with OpenAI's chat completions, known by name. */
export interface CloudPreset {
  /** null: every account has its own address. */
  baseUrl: string | null;
  /** The usual variables of the key; the first that is set counts. */
  keyVariables: readonly string[];
  /** The hosts of the key; a leading dot for all subdomains. */
  keyHosts: readonly string[];
  /** The header of the key; absent: `Authorization: Bearer`. */
  keyHeader?: string;
  /** The usual variable of `baseUrl`, where every account has its own. */
  baseUrlVariable?: string;
  /** Refuses `stream_options` and `max_completion_tokens`; it sends the usage anyway. */
  isStrict?: true;
  /** Reports in `usage.cost` what it charged. */
  tellsCost?: true;
  /** Requested before the list of models, which this provider shows without a key too. */
  keyPath?: string;
}

/**
 * Addresses and variables as documented by the providers, November 2026: console.groq.com/docs/openai,
 * docs.mistral.ai/api, api-docs.deepseek.com, docs.x.ai/docs/api-reference, openrouter.ai/docs, docs.together.ai,
 * docs.fireworks.ai/api-reference, learn.microsoft.com/azure/ai-services/openai/reference.
 */
export const cloudPresets: Readonly<Record<string, CloudPreset>> = {
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariables: ['GROQ_API_KEY'],
    keyHosts: ['api.groq.com'],
  },
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariables: ['MISTRAL_API_KEY'],
    keyHosts: ['api.mistral.ai'],
    isStrict: true,
  },
  deepseek: {
    baseUrl: 'https://api.deepseek.com/v1',
    keyVariables: ['DEEPSEEK_API_KEY'],
    keyHosts: ['api.deepseek.com'],
  },
  xai: {
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    keyHosts: ['api.x.ai'],
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    keyHosts: ['openrouter.ai'],
    tellsCost: true,
    keyPath: '/key',
  },
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    keyVariables: ['TOGETHER_API_KEY'],
    keyHosts: ['api.together.xyz', 'api.together.ai'],
  },
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariables: ['FIREWORKS_API_KEY'],
    keyHosts: ['api.fireworks.ai'],
  },
  azure: {
    baseUrl: null,
    baseUrlVariable: 'AZURE_OPENAI_ENDPOINT',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    keyHosts: ['.openai.azure.com', '.cognitiveservices.azure.com', '.services.ai.azure.com'],
    keyHeader: 'api-key',
  },
};
