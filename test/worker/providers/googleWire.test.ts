import test from 'ava';
import { begin, failureOf } from '../../conformance/providerRun.ts';
import { setupWire, testWire, type WireSubject } from '../../conformance/providerWire.ts';
import { failingAtOnce } from '../../fixtures/providers/answers.ts';
import { blockedPrompt, gemini } from '../../fixtures/providers/gemini.ts';
import { adapter, providerKey } from '../support/wireProvider.ts';

const subject: WireSubject = {
  name: 'google',
  dialect: gemini,
  model: 'gemini-2.5-flash',
  apiKey: providerKey,
  keyHeader: { name: 'x-goog-api-key', prefix: '' },
  make: (origin, options = {}) => adapter({ name: 'google', baseUrl: `${origin}/v1beta`, ...options }),
  params: [
    {
      title: 'those of every model',
      params: { temperature: 0.2, top_p: 0.9, max_tokens: 50, stop: ['END'], seed: 7 },
      body: {
        generationConfig: {
          temperature: 0.2,
          topP: 0.9,
          maxOutputTokens: 50,
          stopSequences: ['END'],
          seed: 7,
        },
      },
    },
  ],
  messages: { system: '"systemInstruction":\\{"parts":\\[\\{"text":"TEXT"', hasImages: true },
  takesTools: true,
  takesSchema: true,
  showsThinking: true,
};

testWire(subject);

test('google: a prompt that is not let through is content_filtered, and what it cost is told', async (t) => {
  const { provider, job } = await setupWire(t, subject, failingAtOnce(gemini, blockedPrompt));
  const { error, usage } = failureOf(await begin(provider, job).outcome);
  t.is(error.class, 'content_filtered', error.message);
  t.regex(error.message, /prohibited_content/i);
  t.like(usage, { input_tokens: 8 });
});

test('google: a model whose name would lead to another address of its API is not asked for', async (t) => {
  const { provider, server, job } = await setupWire(t, subject, failingAtOnce(gemini, blockedPrompt));
  for (const model of [
    '../cachedContents?x=',
    'x/../../v1/files#',
    'gemini-2.5-flash:countTokens?',
    '/x',
    'a b',
    '.',
  ]) {
    const { error } = failureOf(await begin(provider, { ...job, model }).outcome);
    t.like(error, { class: 'model_not_found' }, model);
  }
  t.is(server.asked.length, 0);
  await begin(provider, { ...job, model: 'tunedModels/mine-1' }).outcome;
  t.is(server.asked.length, 1);
});
