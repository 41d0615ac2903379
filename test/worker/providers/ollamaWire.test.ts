import { testWire } from '../../conformance/providerWire.ts';
import { ollama } from '../../fixtures/providers/ollamaChat.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

testWire({
  name: 'ollama',
  dialect: ollama,
  model: 'llama3.2',
  apiKey: providerKey,
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  make: (origin, options = {}) => adapter({ name: 'ollama', baseUrl: origin, ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, max_tokens: 50, stop: ['END'], seed: 7, num_ctx: 8192 },
      body: {
        model: 'llama3.2',
        stream: true,
        truncate: false,
        shift: false,
        options: { temperature: 0.2, num_predict: 50, stop: ['END'], seed: 7, num_ctx: 8192 },
      },
    },
    {
      title: 'what stands beside the options',
      params: { keep_alive: '10m', think: true },
      body: { keep_alive: '10m', think: true },
    },
  ],
  messages: { system: '"role":"system","content":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: true,
});
