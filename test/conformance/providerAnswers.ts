import { type ChunkPart, joinedParts } from '../../src/domain/chunkParts.ts';
import type { ToolCall } from '../../src/domain/job.ts';
import { gzipped, huge, slowly, whenOpened, whole } from '../fixtures/providers/answers.ts';
import { begin, failureOf, resultOf } from './providerRun.ts';
import { serve, setupWire, turnOf, type WireSubject, type WireTest } from './providerWire.ts';

const megabyte = 1024 * 1024;

/** What an adapter makes of answers that are as they should be. */
export function testAnswers(subject: WireSubject, test: WireTest): void {
  const { dialect, model } = subject;

  test('an answer in small pieces is whole, with its usage, model and end', async (t) => {
    const { provider, turn, job } = await setupWire(t, subject);
    const run = begin(provider, job);
    const result = resultOf(await run.outcome);
    t.is(result.output, turn.text.join(''));
    t.is(run.pieces.join(''), result.output);
    t.is(result.finish_reason, 'stop');
    t.is(result.model, model);
    t.like(result.usage, dialect.usage.wire);
    t.like(result.raw_usage, withoutNulls(dialect.usage.raw));
  });

  test('each piece is handed over when it has come, not when the answer is over', async (t) => {
    const { server, provider, turn, job } = await setupWire(t, subject);
    const gate = Promise.withResolvers<void>();
    server.answer(async ({ asked, response }) => {
      const script = dialect.script(turn, asked.body);
      response.writeHead(200, { 'content-type': dialect.contentType });
      response.write(script.begin().join('') + script.text('first'));
      await gate.promise;
      response.end(script.text(' second') + script.end().join(''));
    });
    const run = begin(provider, job);
    await run.firstText;
    t.is(run.pieces.join(''), 'first');
    gate.resolve();
    t.is(resultOf(await run.outcome).output, 'first second');
  });

  test('an answer that comes slowly is whole', async (t) => {
    const { provider, turn, job } = await setupWire(t, subject, slowly(dialect, turnOf(subject), 3));
    t.is(resultOf(await begin(provider, job).outcome).output, turn.text.join(''));
  });

  test('headers that come late are waited for', async (t) => {
    const gate = Promise.withResolvers<void>();
    const answer = whole(dialect, turnOf(subject));
    const { server, provider, job } = await setupWire(t, subject, whenOpened(gate.promise, answer));
    const run = begin(provider, job);
    await server.askedFor(1);
    gate.resolve();
    t.true((await run.outcome).ok);
  });

  if (dialect.contentType.startsWith('text/event-stream')) {
    test('server-sent events are read in each form that they may have', async (t) => {
      const { server, provider, turn, job } = await setupWire(t, subject);
      server.answer(({ asked, response }) => {
        const script = dialect.script(turn, asked.body);
        const pieces = [...script.begin(), ...turn.text.map((text) => script.text(text)), ...script.end()];
        const signsOfLife = ': a comment\n\nid: 7\nretry: 1000\n\n';
        const events = pieces.map((piece, index) => (index % 2 === 0 ? piece : signsOfLife + piece)).join('');
        response.writeHead(200, { 'content-type': dialect.contentType });
        response.end(`\ufeff${events.replaceAll('data: ', 'data:').replaceAll('\n', '\r\n')}`);
      });
      t.is(resultOf(await begin(provider, job).outcome).output, turn.text.join(''));
    });
  }

  test('an answer that is compressed is read all the same', async (t) => {
    const { provider, turn, job } = await setupWire(t, subject, gzipped(dialect, turnOf(subject)));
    t.is(resultOf(await begin(provider, job).outcome).output, turn.text.join(''));
  });

  test('an answer of four megabytes is whole', async (t) => {
    const { provider, job } = await setupWire(t, subject, huge(dialect, turnOf(subject), 4 * megabyte));
    t.is(resultOf(await begin(provider, job).outcome).output.length, 4 * megabyte);
  });

  test('an answer larger than a frame fails with a class, and is not read to its end', async (t) => {
    const bytes = 256 * megabyte;
    const { server, provider, job } = await setupWire(t, subject, huge(dialect, turnOf(subject), bytes));
    const run = begin(provider, job);
    const { error } = failureOf(await run.outcome);
    t.like(error, { class: 'invalid_request', code: 'result_too_large' });
    await server.idle();
    const read = run.pieces.reduce((sum, piece) => sum + piece.length, 0);
    t.true(read < 20 * megabyte, `${read} characters were read`);
  });

  test('an empty answer is an answer', async (t) => {
    const { provider, job } = await setupWire(t, subject, whole(dialect, turnOf(subject, { text: [] })));
    t.like(resultOf(await begin(provider, job).outcome), { output: '', finish_reason: 'stop' });
  });

  const { length } = dialect.finishes;
  if (length !== null) {
    test('an answer that was cut at its greatest length says so', async (t) => {
      const turn = turnOf(subject, { finish: length });
      const { provider, job } = await setupWire(t, subject, whole(dialect, turn));
      t.is(resultOf(await begin(provider, job).outcome).finish_reason, 'length');
    });
  }

  if (subject.showsThinking) {
    test('thinking is no output, and is passed on as reasoning before it', async (t) => {
      const turn = turnOf(subject, { thinking: ['Hmm,', ' the sky?'] });
      const { provider, job } = await setupWire(t, subject, whole(dialect, turn));
      const run = begin(provider, job);
      t.is(resultOf(await run.outcome).output, turn.text.join(''));
      t.is(run.pieces.join(''), turn.text.join(''));
      t.deepEqual(joinedParts(run.parts), [
        { type: 'reasoning', text: 'Hmm, the sky?' },
        { type: 'text', text: turn.text.join('') },
      ]);
    });
  }

  if (subject.takesTools) {
    test('the calls of tools are part of the result', async (t) => {
      const json = '{"city":"Zürich","days":2}';
      const toolCalls = [
        { id: 'call_DdmO9pD3xa9XTPNJ32zg2hcA', name: 'get_weather', arguments: json },
        { id: 'call_2', name: 'get_time', arguments: '{"zone":"Europe/Zurich"}' },
      ];
      const turn = turnOf(subject, { text: [], toolCalls });
      const { provider, job } = await setupWire(t, subject, whole(dialect, turn));
      const run = begin(provider, { ...job, params: { tools: [weatherTool] } });
      const result = resultOf(await run.outcome);
      t.is(result.finish_reason, 'tool_calls');
      t.is(result.output, '');
      const calls = result.tool_calls ?? [];
      t.deepEqual(
        calls.map(({ type, function: { name, arguments: args } }) => [type, name, JSON.parse(args)]),
        toolCalls.map(({ name, arguments: args }) => ['function', name, JSON.parse(args)]),
      );
      t.true(calls.every(({ id }) => id !== ''));
      t.is(new Set(calls.map(({ id }) => id)).size, 2, 'each has an id of its own');
      t.deepEqual(callsIn(run.parts), calls, 'the pieces are the calls');
    });
  }

  if (subject.takesTools && dialect.streamsCalls) {
    test('the arguments of a call are handed over when they have come, not when the answer is over', async (t) => {
      const json = '{"city":"Zürich"}';
      const toolCalls = [{ id: 'call_1', name: 'get_weather', arguments: json }];
      const turn = turnOf(subject, { text: [], toolCalls });
      const { server, provider, job } = await setupWire(t, subject);
      const gate = Promise.withResolvers<void>();
      server.answer(async ({ asked, response }) => {
        const script = dialect.script(turn, asked.body);
        const end = script.end();
        const said = end.findIndex((event) => event.includes('rich')) + 1;
        response.writeHead(200, { 'content-type': dialect.contentType });
        response.write([...script.begin(), ...end.slice(0, said)].join(''));
        await gate.promise;
        response.end(end.slice(said).join(''));
      });
      const run = begin(provider, { ...job, params: { tools: [weatherTool] } });
      await run.until((parts) => callsIn(parts)[0]?.function.arguments === json);
      gate.resolve();
      t.is(resultOf(await run.outcome).tool_calls?.length, 1);
    });
  }

  if (subject.takesTools) {
    test('a tool that is called is the end, also where the provider has its usual word for it', async (t) => {
      const toolCalls = [{ id: 'call_1', name: 'get_time', arguments: '{}' }];
      const turn = turnOf(subject, { text: [], toolCalls, finish: dialect.finishes.natural });
      const { provider, job } = await setupWire(t, subject, whole(dialect, turn));
      const run = begin(provider, { ...job, params: { tools: [weatherTool] } });
      t.is(resultOf(await run.outcome).finish_reason, 'tool_calls');
    });
  }

  test('twenty at once are not mixed', async (t) => {
    const server = await serve(t, (exchange) => {
      const marker = /marker-\d+/.exec(exchange.asked.text)?.[0] ?? 'none';
      return slowly(dialect, turnOf(subject, { text: [`${marker} `, 'and ', marker] }), 1)(exchange);
    });
    const provider = subject.make(server.url);
    const runs = Array.from({ length: 20 }, (_, index) => {
      const run = begin(provider, { model, prompt: `Say marker-${index}` });
      return { run, expected: `marker-${index} and marker-${index}` };
    });
    for (const { run, expected } of runs) {
      t.is(resultOf(await run.outcome).output, expected);
      t.is(run.pieces.join(''), expected);
    }
  });

  test('the next run after a failed one works, and nothing is left open', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    server.answer(({ response }) => void response.destroy(), whole(dialect, turnOf(subject)));
    t.false((await begin(provider, job).outcome).ok);
    t.true((await begin(provider, job).outcome).ok);
    await server.idle();
    t.is(server.bodies.length, 2);
  });
}

/** A field that says nothing may go on its way through a parser. */
function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** As OpenAI describes one; every provider takes it in this form from us. */
export const weatherTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of the next days',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
};

/** The tool calls that the pieces make. Each begins with its id and name, and no other piece has them. */
function callsIn(parts: readonly ChunkPart[]): ToolCall[] {
  const calls: ToolCall[] = [];
  for (const part of parts) {
    if (part.type !== 'tool_call') continue;
    const { index, id, name, arguments: json } = part;
    const known = calls[index];
    if (known !== undefined && id === undefined && name === undefined) known.function.arguments += json;
    else if (known === undefined && index === calls.length && id !== undefined && name !== undefined)
      calls.push({ id, type: 'function', function: { name, arguments: json } });
    else throw new Error(`a piece of a call in the wrong place: ${JSON.stringify(part)}`);
  }
  return calls;
}
