import test from 'ava';
import fc from 'fast-check';
import { jsonItems, lines } from '../../src/lib/jsonItems.ts';

function split(text: string): { items: string[]; rest: string | null } {
  const bytes = Buffer.from(text);
  const walk = jsonItems(bytes, 'jobs');
  const items: string[] = [];
  for (let step = walk.next(); ; step = walk.next()) {
    if (step.done) return { items, rest: step.value };
    if (step.value !== null) items.push(bytes.toString('utf8', step.value.start, step.value.end));
  }
}

test('the items of any list, wherever its member stands and whatever strings hold, are those that JSON.parse finds', (t) => {
  const other = fc.dictionary(
    fc.string().filter((key) => key !== 'jobs'),
    fc.jsonValue(),
  );
  const property = fc.property(
    fc.array(fc.jsonValue()),
    other,
    other,
    fc.constantFrom(undefined, 2, '\t\r\n'),
    (jobs, before, after, indent) => {
      const whole = JSON.parse(JSON.stringify({ ...before, jobs, ...after }));
      const { items, rest } = split(JSON.stringify(whole, null, indent));
      t.deepEqual(
        items.map((item) => JSON.parse(item)),
        whole.jobs,
      );
      t.deepEqual(JSON.parse(String(rest)), { ...whole, jobs: [] });
    },
  );
  fc.assert(property, { numRuns: 300 });
});

test('what is not well formed shows in an item or in the rest', (t) => {
  for (const text of [
    '',
    '{',
    '{"jobs"',
    '{"jobs":',
    '{"jobs":[',
    '{"jobs":[1',
    '{"jobs":[1}',
    '{"jobs":[]',
  ]) {
    t.throws(() => JSON.parse(String(split(text).rest)), { instanceOf: SyntaxError }, text);
  }
  for (const text of [
    '{"jobs":[1,]}',
    '{"jobs":[,1]}',
    '{"jobs":[{"a]}',
    '{"jobs":[1 2]}',
    '{"jobs":["\\"]}',
  ]) {
    const { items, rest } = split(text);
    t.throws(
      () => [...items, String(rest)].map((part) => JSON.parse(part)),
      { instanceOf: SyntaxError },
      text,
    );
  }
});

test('a list of another name, deeper inside, or a second one is left in the rest', (t) => {
  for (const text of [
    '{"jobz":[1]}',
    '{"a":{"jobs":[1]}}',
    '{"jobs":{"a":[1]}}',
    '["jobs",[1]]',
    '{"a":"jobs","b":[1]}',
  ]) {
    t.deepEqual(split(text), { items: [], rest: text });
  }
  t.deepEqual(split('{"jobs":[1],"jobs":[2]}'), { items: ['1'], rest: '{"jobs":[],"jobs":[2]}' });
});

test('lines are counted with the blank ones and given without', (t) => {
  const bytes = Buffer.from('a\r\n\n  \n"ü"\nlast');
  t.deepEqual(
    [...lines(bytes)]
      .filter((line) => line !== null)
      .map(({ start, end, index }) => [index, bytes.toString('utf8', start, end).trim()]),
    [
      [0, 'a'],
      [3, '"ü"'],
      [4, 'last'],
    ],
  );
  t.deepEqual([...lines(Buffer.from('\n'))], []);
});
