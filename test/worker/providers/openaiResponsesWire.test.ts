import { testWire } from '../../conformance/providerWire.ts';
import { openaiResponses } from '../../fixtures/providers/openaiResponses.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

testWire({
  name: 'openai responses',
  dialect: openaiResponses,
  model: 'gpt-4o',
  apiKey: providerKey,
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  make: (origin, options = {}) =>
    adapter({ name: 'openai', baseUrl: `${origin}/v1`, api: 'responses', ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, top_p: 0.9, max_tokens: 50 },
      body: { model: 'gpt-4o', stream: true, temperature: 0.2, top_p: 0.9, max_output_tokens: 50 },
    },
    {
      title: 'those of a reasoning model',
      model: 'gpt-5',
      params: { reasoning_effort: 'low' },
      body: { model: 'gpt-5', reasoning: { effort: 'low' } },
    },
  ],
  messages: { system: '"role":"(system|developer)","content":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: true,
});
