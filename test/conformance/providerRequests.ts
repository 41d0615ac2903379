import { weatherTool } from './providerAnswers.ts';
import { begin, failureOf, resultOf } from './providerRun.ts';
import { setupWire, type WireSubject, type WireTest } from './providerWire.ts';

const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What an adapter asks of its provider. */
export function testRequests(subject: WireSubject, test: WireTest): void {
  const { dialect, apiKey, keyHeader, model } = subject;

  test('it asks at the right place, with the key in a header only, for a stream', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    resultOf(await begin(provider, job).outcome);
    const [asked] = server.asked;
    t.regex(asked?.path ?? '', dialect.path);
    t.is(asked?.method, 'POST');
    t.regex(asked?.headers['content-type'] ?? '', /^application\/json/);
    if (keyHeader !== null) t.is(asked?.headers[keyHeader.name], `${keyHeader.prefix}${apiKey}`);
    if (apiKey !== null) t.false(`${asked?.path}${asked?.text}`.includes(apiKey));
    t.true(asked?.body.stream === true || /stream/i.test(asked?.path ?? ''), 'it is streamed always');
    t.true(`${asked?.path}${asked?.text}`.includes(model), 'the model is named');
    t.true(asked?.text.includes('Say something about the weather'));
  });

  test('the prompt is the system message when there is an input, which is the user’s', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    resultOf(await begin(provider, { ...job, prompt: 'Summarise it', input: 'A long text' }).outcome);
    const text = server.asked[0]?.text ?? '';
    t.regex(text, new RegExp(subject.messages.system.replace('TEXT', 'Summarise it')));
    t.true(text.includes('A long text'));
  });

  test('messages go as they are, in their order', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    const messages = [
      { role: 'system', content: 'Be short' },
      { role: 'user', content: 'First question' },
      { role: 'assistant', content: 'First answer' },
      { role: 'user', content: 'Second question' },
    ];
    resultOf(await begin(provider, { ...job, prompt: null, messages }).outcome);
    const text = server.asked[0]?.text ?? '';
    t.regex(text, new RegExp(subject.messages.system.replace('TEXT', 'Be short')));
    t.regex(text, /First question.*First answer.*Second question/);
  });

  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }];
  if (subject.messages.hasImages) {
    test('a picture goes as its bytes', async (t) => {
      const { server, provider, job } = await setupWire(t, subject);
      resultOf(await begin(provider, { ...job, prompt: null, messages }).outcome);
      const text = server.asked[0]?.text ?? '';
      t.true(text.includes(picture), text.slice(0, 500));
      t.true(text.includes('What is this?'));
    });
  }

  test('what cannot be said fails without asking, and the message names it', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ prompt: null, messages: [{ role: 'user', content: 5 }] }, /messages\[0\]/],
      [{ prompt: null }, /prompt|message/],
    ];
    for (const [more, message] of cases) {
      const { error } = failureOf(await begin(provider, { ...job, ...more }).outcome);
      t.is(error.class, 'invalid_request');
      t.regex(error.message, message);
    }
    t.deepEqual(server.asked, []);
  });

  test('a part of a message that nobody knows reaches the provider, or is refused by its place', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    const parts = [{ role: 'user', content: [{ type: 'hologram', hologram: { depth: 7 } }] }];
    const outcome = await begin(provider, { ...job, prompt: null, messages: parts }).outcome;
    if (outcome.ok) t.true(server.asked[0]?.text.includes('"hologram":{"depth":7}'));
    else {
      t.is(outcome.error.class, 'invalid_request');
      t.regex(outcome.error.message, /messages\[0\]/);
    }
  });

  for (const { title, params, model: other, body } of subject.params) {
    test(`params reach the provider: ${title}`, async (t) => {
      const { server, provider, job } = await setupWire(t, subject);
      const run = begin(provider, { ...job, model: other ?? model, params });
      resultOf(await run.outcome);
      t.like(server.bodies[0], body);
    });
  }

  test('a parameter that nobody knows reaches the provider, or is refused by its name', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    const outcome = await begin(provider, { ...job, params: { a_new_thing: { depth: 7 } } }).outcome;
    if (outcome.ok) t.true(server.asked[0]?.text.includes('"a_new_thing":{"depth":7}'));
    else {
      t.is(outcome.error.class, 'invalid_request');
      t.regex(outcome.error.message, /a_new_thing/);
    }
  });

  test('a parameter of the wrong type is not dropped in silence', async (t) => {
    for (const params of [
      { temperature: 'hot' },
      { max_tokens: 'many' },
      { response_format: 5 },
      { tools: 7 },
    ]) {
      const { server, provider, job } = await setupWire(t, subject);
      const [[name, value] = []] = Object.entries(params);
      const outcome = await begin(provider, { ...job, params }).outcome;
      if (outcome.ok) t.true(server.asked[0]?.text.includes(JSON.stringify(value)), `${name} was dropped`);
      else {
        t.is(outcome.error.class, 'invalid_request');
        t.regex(outcome.error.message, new RegExp(String(name)));
      }
    }
  });

  if (subject.takesSchema) {
    test('a JSON schema for the answer reaches the provider', async (t) => {
      const { server, provider, job } = await setupWire(t, subject);
      const schema = {
        type: 'object',
        properties: { temperature_celsius: { type: 'number' } },
        required: ['temperature_celsius'],
        additionalProperties: false,
      };
      const format = { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } };
      resultOf(await begin(provider, { ...job, params: { response_format: format } }).outcome);
      const text = server.asked[0]?.text ?? '';
      t.true(text.includes('temperature_celsius'), text.slice(0, 800));
      t.true(text.includes('"required":["temperature_celsius"]'));
    });
  }

  if (subject.takesTools) {
    test('tools reach the provider', async (t) => {
      const { server, provider, job } = await setupWire(t, subject);
      const params = { tools: [weatherTool] };
      resultOf(await begin(provider, { ...job, params }).outcome);
      const text = server.asked[0]?.text ?? '';
      for (const word of ['get_weather', 'The weather of the next days', '"required":["city"]']) {
        t.true(text.includes(word), `${word} is not in ${text.slice(0, 800)}`);
      }
    });
  }
}
