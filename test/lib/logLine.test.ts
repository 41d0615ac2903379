import test from 'ava';
import { readableLine } from '../../src/lib/logLine.ts';

const time = '2026-11-21T09:30:12.000Z';

test('a record of the log is one readable line, with its fields and nothing that drives a terminal', (t) => {
  const record = { level: 40, time, worker: 'box\u001b[2J-1', late_ms: 12, msg: 'a worker is late' };
  const line = readableLine(JSON.stringify(record), false);
  t.regex(line, /^\d\d:\d\d:12 warn {2}a worker is late worker=box-1 late_ms=12$/);
});

test('an error is followed by its stack, a line each', (t) => {
  const record = {
    level: 50,
    time,
    err: { message: 'no', stack: 'Error: no\n    at a.ts:1' },
    msg: 'failed',
  };
  const [first, ...stack] = readableLine(JSON.stringify(record), false).split('\n');
  t.regex(first ?? '', /error failed$/);
  t.deepEqual(stack, ['    Error: no', '    at a.ts:1']);
});

test('colours only where they are wanted, and what is no record is shown as it is', (t) => {
  t.true(readableLine(JSON.stringify({ level: 50, time, msg: 'x' }), true).includes('\u001b[31m'));
  t.is(readableLine('plain', true), 'plain');
});
