import test from 'ava';
import { begin, resultOf } from '../../conformance/providerRun.ts';
import { serve, testWire } from '../../conformance/providerWire.ts';
import { whole } from '../../fixtures/providers/answers.ts';
import { llamacppResponses } from '../../fixtures/providers/llamacppResponses.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

testWire({
  name: 'llamacpp responses',
  dialect: llamacppResponses,
  model: 'gemma-3-270m',
  apiKey: providerKey,
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  make: (origin, options = {}) =>
    adapter({ name: 'llamacpp', baseUrl: `${origin}/v1`, api: 'responses', ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, top_p: 0.9, max_tokens: 50 },
      body: { model: 'gemma-3-270m', stream: true, temperature: 0.2, top_p: 0.9, max_output_tokens: 50 },
    },
  ],
  messages: { system: '"role":"(system|developer)","content":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: true,
});

test('every item of the input says what it is, which llama-server asks for', async (t) => {
  const turn = { model: 'm', text: ['Yes.'] };
  const server = await serve(t, whole(llamacppResponses, turn));
  const provider = adapter({ name: 'llamacpp', baseUrl: server.url, api: 'responses' });
  const messages = [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'Is it?' },
    { role: 'assistant', content: 'It is.' },
    { role: 'user', content: 'Sure?' },
  ];
  resultOf(await begin(provider, { model: 'm', prompt: null, messages }).outcome);
  const input = server.bodies[0]?.input as { type?: string; role?: string }[];
  t.deepEqual(
    input.map(({ type, role }) => `${type} ${role}`),
    ['message system', 'message user', 'message assistant', 'message user'],
  );
});
