import test from 'ava';
import fc from 'fast-check';
import type { Opened } from '../../src/bulk/format.ts';
import { jsonArray } from '../../src/bulk/formats/jsonArray.ts';
import type { Source } from '../../src/bulk/source.ts';
import { itemsOf, jobFileWith, promptsOf } from './sources.ts';

test('the form of a file follows from its name and content', async (t) => {
  const openaiLine =
    '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}';
  const options = { promptColumn: 'title' };
  for (const [name, text, format] of [
    ['a.txt', 'Say hello\nSay goodbye', 'lines'],
    ['a.txt', 'Hello, world\nGoodbye, moon', 'lines'],
    ['a.txt', '[INST] Say hello', 'lines'],
    ['a', '{"prompt": "x"}\n{"prompt": "y"}', 'ndjson'],
    ['a.jsonl', openaiLine, 'openai'],
    ['a.ndjson', '{"prompt": "x", "body": {}}', 'ndjson'],
    ['a.json', '\n [ "x" ]', 'json'],
    ['a', '[{"prompt": "x"}]', 'json'],
  ] as const)
    t.is((await jobFileWith(t, name, text)).format.name, format, `${name}: ${text}`);
  for (const [name, text, format] of [
    ['a.csv', 'title', 'csv'],
    ['a.txt', 'id,title\n1,x\n2,"a, b"', 'csv'],
    ['a', 'id;title\n1;x', 'csv'],
    ['a', 'id\ttitle\n1\tx', 'tsv'],
    ['a.tsv', 'title\nx', 'tsv'],
  ] as const)
    t.is((await jobFileWith(t, name, text, options)).format.name, format, `${name}: ${text}`);
});

test('a table that nobody asked to read as one is no list of prompts', async (t) => {
  for (const name of ['a.csv', 'a.txt']) {
    const error = await t.throwsAsync(jobFileWith(t, name, 'id,title\n1,x\n2,y'));
    t.regex(error.message, /--prompt-column .* --template .*The columns are: id, title/);
  }
  const file = await jobFileWith(t, 'a.csv', 'id,title\n1,x', { format: 'text' });
  t.deepEqual(await promptsOf(file), ['id,title', '1,x']);
  t.deepEqual(await promptsOf(await jobFileWith(t, 'a.csv', 'id,prompt\n1,x')), ['x']);
});

test('lines are prompts, or JSON where they begin so', async (t) => {
  const text = '\ufefffirst\r\n\r\n"say \\"two\\""\n{"prompt": "third", "custom_id": 3}\n{"prompt": \n';
  const items = await itemsOf(await jobFileWith(t, 'a.txt', text));
  t.like(items[0], { line: 1, ownId: null, body: { prompt: 'first' } });
  t.like(items[1], { line: 3, body: { prompt: 'say "two"' } });
  t.deepEqual(items[2], { line: 4, id: '3', ownId: '3', body: { prompt: 'third' }, cells: [] });
  t.like(items[3], { line: 5 });
  t.true('fault' in (items[3] ?? {}));
  const plain = await jobFileWith(t, 'a.txt', '{"prompt": \n', { format: 'text' });
  t.deepEqual(await promptsOf(plain), ['{"prompt":']);
});

test('a prompt of the command makes of lines what it is about', async (t) => {
  const text = 'one text\n{"input": "another"}\n{"prompt": "own"}';
  const items = await itemsOf(await jobFileWith(t, 'a.txt', text, { prompt: 'Summarise' }));
  t.deepEqual(
    items.map((item) => 'body' in item && item.body),
    [
      { prompt: 'Summarise', input: 'one text' },
      { input: 'another', prompt: 'Summarise' },
      { prompt: 'own' },
    ],
  );
  const error = await t.throwsAsync(jobFileWith(t, 'a.csv', 'a,b\n1,2', { prompt: 'Summarise' }));
  t.regex(error.message, /write the prompt into the template/);
});

test('CSV has quotes, separators and line breaks in cells, and lines of the file in its faults', async (t) => {
  const text = '\ufeffid,title,body\r\n1,"a ""q""","x\r\ny"\r\n\r\n2,b,c\r\n3,d\r\n4, ,\r\n';
  const file = await jobFileWith(t, 'a.csv', text, { template: '{{title}}{{ body }}', idColumn: 'id' });
  t.deepEqual(file.header, ['id', 'title', 'body']);
  t.deepEqual(await itemsOf(file), [
    { line: 2, id: '1', ownId: '1', body: { prompt: 'a "q"x\r\ny' }, cells: ['1', 'a "q"', 'x\r\ny'] },
    { line: 5, id: '2', ownId: '2', body: { prompt: 'bc' }, cells: ['2', 'b', 'c'] },
    { line: 6, fault: 'has 2 cells and the header has 3' },
    { line: 7, fault: 'has an empty prompt' },
  ]);
  const open = await jobFileWith(t, 'a.csv', 'a,b\n1,"x\n2,y\n', { promptColumn: 'a' });
  await t.throwsAsync(itemsOf(open), { message: /a\.csv:\d: a quote is opened and never closed/ });
  const wrong = await jobFileWith(t, 'a.csv', 'a,b\n1,x"y\n', { promptColumn: 'a' });
  await t.throwsAsync(itemsOf(wrong), { message: /a\.csv:2: has a quote in the wrong place/ });
  await t.throwsAsync(jobFileWith(t, 'a.csv', 'a,a\n1,2', { promptColumn: 'a' }), { message: /twice/ });
  await t.throwsAsync(jobFileWith(t, 'a.csv', 'a,b\n1,2', { promptColumn: 'c' }), {
    message: /no column "c"/,
  });
  await t.throwsAsync(jobFileWith(t, 'a.txt', 'x', { template: '{{a}}' }), { message: /needs a table/ });
});

test('any table comes back cell for cell', async (t) => {
  const cell = fc.string({
    unit: fc.constantFrom('a', 'ü', ' ', ',', '"', '\n', '\r\n', ';', "'", '=', '😀'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 8 }), async (rows) => {
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
      const text = rows.map(([a, b]) => `x,${quoted(a)},${quoted(b)}\r\n`).join('');
      const file = await jobFileWith(t, 'a.csv', `p,a,b\r\n${text}`, { promptColumn: 'p' });
      const items = await itemsOf(file);
      t.deepEqual(
        items.map((item) => 'cells' in item && item.cells),
        rows.map(([a, b]) => ['x', a, b]),
      );
      let line = 2;
      for (const [index, [a, b]] of rows.entries()) {
        t.is(items[index]?.line, line);
        line += 1 + (a + b).split('\n').length - 1;
      }
    }),
    { numRuns: 30 },
  );
});

test('a JSON array is read item by item, wherever the pieces end', async (t) => {
  const value = fc.oneof(fc.string(), fc.record({ prompt: fc.string({ minLength: 1 }), input: fc.string() }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom(0, 2),
      async (values, size, indent) => {
        const bytes = Buffer.from(`\n ${JSON.stringify(values, null, indent)} \n`);
        const source: Source = {
          name: 'a',
          path: '/a',
          bytes: bytes.length,
          sample: { extension: 'json', text: '', isWhole: true },
          pieces: async function* () {
            for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
          },
          lines: () => {
            throw new Error('an array is not read by lines');
          },
          close: async () => {},
        };
        const { read }: Opened = await jsonArray.open(source, {});
        const bodies: unknown[] = [];
        for await (const item of read()) bodies.push('body' in item ? item.body : item.fault);
        t.deepEqual(
          bodies,
          values.map((one) => (typeof one === 'string' ? { prompt: one } : one)),
        );
      },
    ),
    { numRuns: 100 },
  );
});

test('the faults of a JSON array have lines, and an array that is cut off is one', async (t) => {
  const file = await jobFileWith(t, 'a.json', '[\n"a",\n\n {"prompt": 1 x},\n5\n]\n');
  t.deepEqual(await promptsOf(file), [
    'a',
    '4: item 2 is not valid JSON',
    '5: is neither a text nor an object',
  ]);
  await t.throwsAsync(itemsOf(await jobFileWith(t, 'a.json', '["a", ')), { message: /has no end/ });
  await t.throwsAsync(itemsOf(await jobFileWith(t, 'a.json', '["a"] x')), { message: /more text after/ });
  t.deepEqual(await itemsOf(await jobFileWith(t, 'a.json', '[ ]')), []);
});

test('a batch file of OpenAI is taken as it is', async (t) => {
  const messages = [{ role: 'user', content: 'hello' }];
  const line = (over: object) =>
    JSON.stringify({
      custom_id: 'a',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { messages },
      ...over,
    });
  const body = { model: 'm', messages, temperature: 0, max_tokens: 5, stream: false, metadata: { k: 'v' } };
  const text = [
    line({ body }),
    line({ custom_id: 'b' }),
    line({ url: '/v1/embeddings' }),
    line({ custom_id: undefined }),
    line({ body: { input: 'x' } }),
    '[]',
  ].join('\n');
  t.deepEqual(await itemsOf(await jobFileWith(t, 'a.jsonl', text)), [
    {
      line: 1,
      id: 'a',
      ownId: 'a',
      body: { messages, model: 'm', metadata: { k: 'v' }, params: { temperature: 0, max_tokens: 5 } },
      cells: [],
    },
    { line: 2, id: 'b', ownId: 'b', body: { messages }, cells: [] },
    { line: 3, fault: 'has another url than /v1/chat/completions' },
    { line: 4, fault: 'has no custom_id' },
    { line: 5, fault: 'has no messages in its body' },
    { line: 6, fault: 'is not a JSON object' },
  ]);
});
