import { testWire } from '../../conformance/providerWire.ts';
import { openaiChat } from '../../fixtures/providers/openaiChat.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

testWire({
  name: 'openai chat',
  dialect: openaiChat,
  model: 'gpt-4o',
  apiKey: providerKey,
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  make: (origin, options = {}) =>
    adapter({ name: 'openai', baseUrl: `${origin}/v1`, api: 'chat', ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, top_p: 0.9, max_tokens: 50, stop: ['END'], seed: 7 },
      body: {
        model: 'gpt-4o',
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.2,
        top_p: 0.9,
        stop: ['END'],
        seed: 7,
      },
    },
    {
      title: 'those of OpenAI',
      params: { service_tier: 'flex', logit_bias: { '50256': -100 }, user: 'u-1', prompt_cache_key: 'k' },
      body: { service_tier: 'flex', logit_bias: { '50256': -100 }, user: 'u-1', prompt_cache_key: 'k' },
    },
    {
      title: 'those of a reasoning model',
      model: 'gpt-5',
      params: { reasoning_effort: 'low', max_tokens: 500 },
      body: { model: 'gpt-5', reasoning_effort: 'low', max_completion_tokens: 500 },
    },
    {
      title: 'a JSON object',
      params: { response_format: { type: 'json_object' } },
      body: { response_format: { type: 'json_object' } },
    },
  ],
  messages: { system: '"role":"(system|developer)","content":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: false,
});
