import { shellWord } from '../../../lib/shellWord.ts';

/** A provider, and how to start a worker for it. */
export interface ProviderGuide {
  name: string;
  label: string;
  /** The variable of the provider's key; null when it needs none. */
  keyVariable: string | null;
  /** The variable of the address, where every account has its own. */
  addressVariable?: string;
  hint: string;
}

const cloudHint = 'Its key remains on the worker’s machine; the coordinator never sees it.';

export const providerGuides: readonly ProviderGuide[] = [
  {
    name: 'echo',
    label: 'Echo',
    keyVariable: null,
    hint: 'Needs no model and costs nothing: for a first try.',
  },
  {
    name: 'ollama',
    label: 'Ollama',
    keyVariable: null,
    hint: 'Uses the Ollama server on its own machine, and offers the models that are installed there.',
  },
  {
    name: 'vllm',
    label: 'vLLM',
    keyVariable: null,
    hint: 'Uses the vLLM server on its own machine, port 8000.',
  },
  {
    name: 'llamacpp',
    label: 'llama.cpp',
    keyVariable: null,
    hint: 'Uses llama-server on its own machine, port 8080.',
  },
  {
    name: 'lmstudio',
    label: 'LM Studio',
    keyVariable: null,
    hint: 'Uses the LM Studio server on its own machine, port 1234.',
  },
  {
    name: 'openai',
    label: 'OpenAI',
    keyVariable: 'OPENAI_API_KEY',
    hint: cloudHint,
  },
  {
    name: 'anthropic',
    label: 'Anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    hint: cloudHint,
  },
  {
    name: 'google',
    label: 'Google Gemini',
    keyVariable: 'GEMINI_API_KEY',
    hint: cloudHint,
  },
  { name: 'groq', label: 'Groq', keyVariable: 'GROQ_API_KEY', hint: cloudHint },
  { name: 'mistral', label: 'Mistral', keyVariable: 'MISTRAL_API_KEY', hint: cloudHint },
  { name: 'deepseek', label: 'DeepSeek', keyVariable: 'DEEPSEEK_API_KEY', hint: cloudHint },
  { name: 'xai', label: 'xAI', keyVariable: 'XAI_API_KEY', hint: cloudHint },
  { name: 'openrouter', label: 'OpenRouter', keyVariable: 'OPENROUTER_API_KEY', hint: cloudHint },
  { name: 'together', label: 'Together', keyVariable: 'TOGETHER_API_KEY', hint: cloudHint },
  { name: 'fireworks', label: 'Fireworks', keyVariable: 'FIREWORKS_API_KEY', hint: cloudHint },
  {
    name: 'azure',
    label: 'Azure OpenAI',
    keyVariable: 'AZURE_OPENAI_API_KEY',
    addressVariable: 'AZURE_OPENAI_ENDPOINT',
    hint: cloudHint,
  },
];

/** The configuration that makes jobs wait for rate limits. */
export const rateLimitSetting =
  'providers: { defaults: { rate_limit: { retry_after_seconds: 30, max_retries: 5 } } }';

/** Replaces a key that must not be shown. */
export const keyPlaceholder = '…';

/** Where commands go to, and how. */
export interface Target {
  url: string;
  /** Of the coordinator; null for a placeholder. */
  key: string | null;
  /** What starts the command line. */
  svc: string;
}

/** Starts a worker for a provider. */
export function workerCommand(guide: ProviderGuide, { url, key, svc }: Target): string {
  const variables = [
    `SVC_API_KEY=${key === null ? keyPlaceholder : shellWord(key)}`,
    ...[guide.keyVariable, guide.addressVariable]
      .filter((name) => name !== null && name !== undefined)
      .map((name) => `${name}=${keyPlaceholder}`),
  ];
  return [
    ...variables.map((variable) => `${variable} \\`),
    `  ${svc} worker --provider ${guide.name} \\`,
    `  --coordinator ${shellWord(url)} --concurrency 4`,
  ].join('\n');
}

/** Dispatches a job with curl and waits for its end. */
export function curlCommand(url: string, key: string | null): string {
  return [
    `curl -s ${shellWord(`${url}/api/jobs?wait=30`)} \\`,
    `  -H "Authorization: Bearer ${key ?? '$SVC_API_KEY'}" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"prompt": "Say hello", "provider": "echo"}'`,
  ].join('\n');
}

/** Configures the command line for the coordinator, and uses it. */
export function cliCommands({ url, key, svc }: Target): string {
  return [
    `export SVC_COORDINATOR_URL=${shellWord(url)}`,
    `export SVC_API_KEY=${key === null ? keyPlaceholder : shellWord(key)}`,
    `${svc} run "Say hello" --provider echo`,
    `${svc} jobs list --status failed`,
    `${svc} doctor`,
  ].join('\n');
}

/** Dispatches a job from JavaScript with only fetch. */
export function fetchCode(url: string): string {
  return [
    `const answer = await fetch(${JSON.stringify(`${url}/api/jobs?wait=30`)}, {`,
    "  method: 'POST',",
    '  headers: {',
    "    authorization: 'Bearer ' + process.env.SVC_API_KEY,",
    "    'content-type': 'application/json',",
    '  },',
    "  body: JSON.stringify({ prompt: 'Say hello', provider: 'echo' }),",
    '});',
    'const job = await answer.json();',
    'console.log(job.status, job.result?.output);',
  ].join('\n');
}
