import { testWire } from '../../conformance/providerWire.ts';
import { anthropic } from '../../fixtures/providers/anthropic.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

testWire({
  name: 'anthropic',
  dialect: anthropic,
  model: 'claude-sonnet-4-5',
  apiKey: providerKey,
  keyHeader: { name: 'x-api-key', prefix: '' },
  make: (origin, options = {}) => adapter({ name: 'anthropic', baseUrl: `${origin}/v1`, ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, max_tokens: 50, stop: ['END'], top_k: 5 },
      body: {
        model: 'claude-sonnet-4-5',
        stream: true,
        temperature: 0.2,
        max_tokens: 50,
        stop_sequences: ['END'],
        top_k: 5,
      },
    },
    {
      title: 'thinking',
      params: { thinking: { type: 'enabled', budget_tokens: 2048 }, max_tokens: 4096 },
      body: { thinking: { type: 'enabled', budget_tokens: 2048 } },
    },
    {
      title: 'its service tier',
      params: { service_tier: 'standard_only' },
      body: { service_tier: 'standard_only' },
    },
  ],
  messages: { system: '"system":\\[\\{"type":"text","text":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: true,
});
