import test from 'ava';
import { parseFrame } from '../../src/gateway/frames.ts';
import { keptRawUsage } from '../../src/gateway/words.ts';

test('the raw usage of a provider is kept up to 16 KiB, and left out beyond', (t) => {
  const largest = { text: 'x'.repeat(16 * 1024 - '{"text":""}'.length) };
  t.is(keptRawUsage(largest), largest);
  t.is(keptRawUsage({ text: `${largest.text}x` }), undefined);
  t.is(keptRawUsage(null), undefined);
});

/** A frame, and whether it is taken. */
const isTaken = (frame: object) => typeof parseFrame(JSON.stringify(frame)) !== 'string';

test('a name that is missing, empty or blank is one fault', (t) => {
  const hello = { type: 'hello', kind: 'cloud', providers: ['echo'], concurrency: 1 };
  const says = (frame: object) => parseFrame(JSON.stringify(frame));
  t.is(says(hello), 'hello: name is required');
  t.is(says({ ...hello, name: '' }), 'hello: name must not be blank or contain control characters');
  t.is(says({ ...hello, name: ' ' }), 'hello: name must not be blank or contain control characters');
  t.is(says({ ...hello, name: 'w', tags: [''] }), 'hello: tags[0] must not be empty');
});

test('the lists of a frame, and its names, have a length', (t) => {
  const leases = (count: number) =>
    Array.from({ length: count }, (_, lease) => ({ job_id: 'j', lease: lease + 1 }));
  t.true(isTaken({ type: 'heartbeat', running: leases(20_000) }));
  t.false(isTaken({ type: 'heartbeat', running: leases(20_001) }));
  const hello = (overrides: object) => ({
    type: 'hello',
    name: 'w',
    kind: 'cloud',
    providers: ['echo'],
    concurrency: 1,
    ...overrides,
  });
  t.true(isTaken(hello({ name: 'n'.repeat(200), concurrency: 100_000 })));
  t.false(isTaken(hello({ name: 'n'.repeat(201) })));
  t.false(isTaken(hello({ providers: ['p'.repeat(201)] })));
  t.false(isTaken(hello({ tags: ['t'.repeat(201)] })));
  t.false(isTaken(hello({ concurrency: 100_001 })));
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const complete = (calls: number) => ({
    type: 'complete',
    job_id: 'j',
    lease: 1,
    result: { output: '', tool_calls: Array.from({ length: calls }, () => call) },
  });
  t.true(isTaken(complete(1_000)));
  t.false(isTaken(complete(1_001)));
});

test('a frame full of faults is told one of them', (t) => {
  const hello = { type: 'hello', name: 'w', kind: 'cloud', providers: ['echo'], concurrency: 1 };
  const wrong = (count: number) => Array(count).fill(1);
  const names = (count: number, length = 10) =>
    Array.from({ length: count }, (_, index) => String(index).padEnd(length, 'm'));
  for (const [frame, fault] of [
    [{ type: 'heartbeat', running: wrong(20_000) }, 'heartbeat: running[0] must be a lease: {job_id, lease}'],
    [{ type: 'heartbeat', running: wrong(20_001) }, 'heartbeat: running must have at most 20000 items'],
    [{ ...hello, running: wrong(20_001) }, 'hello: running must have at most 20000 items'],
    [{ ...hello, providers: wrong(101) }, 'hello: providers must have at most 100 items'],
    [{ ...hello, tags: wrong(101) }, 'hello: tags must have at most 100 items'],
    [
      { ...hello, models: { a: names(1_000), b: names(1_001) } },
      'hello: models must have at most 2000 models in all',
    ],
    [{ ...hello, models: { ...wrong(101) } }, 'hello: models must have at most 100 providers'],
    [{ ...hello, models: { a: ['m'.repeat(201)] } }, 'hello: models must name models of 1 to 200 characters'],
    [
      { ...hello, models: { a: names(1_000, 200) } },
      'hello: models must have at most 131072 characters in all',
    ],
    [{ ...hello, models: { a: [1] } }, 'hello: models must name models of 1 to 200 characters'],
  ] as const) {
    t.is(parseFrame(JSON.stringify(frame)), fault);
  }
});

test('a name that is long and wrong is refused at once', (t) => {
  const hello = { type: 'hello', kind: 'cloud', providers: ['echo'], concurrency: 1 };
  const begun = performance.now();
  t.false(isTaken({ ...hello, name: `${'n'.repeat(500_000)}\n` }));
  t.true(performance.now() - begun < 5_000);
});
