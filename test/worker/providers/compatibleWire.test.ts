import { testWire, type WireSubject } from '../../conformance/providerWire.ts';
import type { Dialect } from '../../fixtures/providers/dialect.ts';
import { llamacpp, lmstudio, openrouter, vllm } from '../../fixtures/providers/openaiCompatible.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

const subject = (dialect: Dialect, model: string, more: Partial<WireSubject> = {}): WireSubject => ({
  name: dialect.name,
  dialect,
  model,
  apiKey: providerKey,
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  make: (origin, options = {}) => adapter({ name: dialect.name, baseUrl: `${origin}/v1`, ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, top_p: 0.9, max_tokens: 50, stop: ['END'], seed: 7 },
      body: {
        model,
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.2,
        top_p: 0.9,
        max_tokens: 50,
        stop: ['END'],
        seed: 7,
      },
    },
    {
      title: 'those of the server itself',
      params: { top_k: 40, min_p: 0.05, repeat_penalty: 1.1 },
      body: { top_k: 40, min_p: 0.05, repeat_penalty: 1.1 },
    },
  ],
  messages: { system: '"role":"system","content":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: true,
  ...more,
});

testWire(subject(lmstudio, 'qwen3-8b'));
testWire(subject(llamacpp, 'gemma-3-270m'));
testWire(subject(vllm, 'Qwen/Qwen3-8B'));
testWire(subject(openrouter, 'openai/gpt-5'));
