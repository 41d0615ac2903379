/** What the bench and the process that plays the providers both know. */

/** A model of this name speaks at 30 tokens a second until nobody listens. */
export const pacedModel = 'paced';
export const tokensPerSecond = 30;
/** Of any other model's answer. */
export const answerTokens = 20;

export function tokenOf(index: number): string {
  return ` word${index}`;
}

/** A provider that the worker is measured with. */
export interface MeasuredProvider {
  name: string;
  model: string;
  /** Under the origin of the process that plays it. */
  basePath: string;
  /** The same request as a client without SVC would send it. */
  direct: {
    path: string;
    headers: Record<string, string>;
    body: (prompt: string) => Record<string, unknown>;
  };
}

export const apiKeyVariable = 'BENCH_PROVIDER_KEY';
export const apiKeyOfProvider = 'bench-provider-key';

const chat = (model: string) => (prompt: string) => ({
  model,
  messages: [{ role: 'user', content: prompt }],
  stream: true,
  stream_options: { include_usage: true },
});
const bearer = { authorization: `Bearer ${apiKeyOfProvider}` };

export const measuredProviders: readonly MeasuredProvider[] = [
  {
    name: 'openai',
    model: 'gpt-4o',
    basePath: '/v1',
    direct: { path: '/v1/chat/completions', headers: bearer, body: chat('gpt-4o') },
  },
  {
    name: 'anthropic',
    model: 'claude-sonnet-4-5',
    basePath: '/v1',
    direct: {
      path: '/v1/messages',
      headers: { 'x-api-key': apiKeyOfProvider, 'anthropic-version': '2023-06-01' },
      body: (prompt) => ({
        model: 'claude-sonnet-4-5',
        max_tokens: 4096,
        messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
        stream: true,
      }),
    },
  },
  {
    name: 'google',
    model: 'gemini-2.5-flash',
    basePath: '/v1beta',
    direct: {
      path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      headers: { 'x-goog-api-key': apiKeyOfProvider },
      body: (prompt) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
    },
  },
  {
    name: 'vllm',
    model: 'Qwen/Qwen3-8B',
    basePath: '/v1',
    direct: { path: '/v1/chat/completions', headers: bearer, body: chat('Qwen/Qwen3-8B') },
  },
  {
    name: 'ollama',
    model: 'llama3.2',
    basePath: '',
    direct: {
      path: '/api/chat',
      headers: bearer,
      body: (prompt) => ({ model: 'llama3.2', messages: [{ role: 'user', content: prompt }], stream: true }),
    },
  },
];

/** How a model of the gateway's comparison speaks. */
export interface Timing {
  /** From the request to the first token, ms. */
  waitMs: number;
  tokens: number;
  /** Between two tokens, ms; 0: all at once. */
  paceMs: number;
}

const timedName = /^timed-(\d+)-(\d+)-(\d+)$/;

/** The name of a model that speaks so. */
export function timedModel({ waitMs, tokens, paceMs }: Timing): string {
  return `timed-${waitMs}-${tokens}-${paceMs}`;
}

/** null: any other model. */
export function timingOf(model: string): Timing | null {
  const [, waitMs, tokens, paceMs] = timedName.exec(model) ?? [];
  if (waitMs === undefined) return null;
  return { waitMs: Number(waitMs), tokens: Number(tokens), paceMs: Number(paceMs) };
}
