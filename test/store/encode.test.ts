import { crc32 } from 'node:zlib';
import test from 'ava';
import { encodeRecords } from '../../src/store/json/journal/encode.ts';
import { decodeRecord } from '../../src/store/json/journal/record.ts';

const change = (id: number, bytes: number) =>
  JSON.stringify({ kind: 'keyRemoved', id: `${id}`.padEnd(bytes, 'ü') });
const asOne = (seq: number, group: number, texts: readonly string[]) => {
  const changes = `[${texts.join(',')}]`;
  const numbers = seq === group ? String(seq) : `${seq},"group":${group}`;
  const sum = crc32(changes, crc32(numbers)).toString(16).padStart(8, '0');
  return `{"seq":${numbers},"sum":"${sum}","changes":${changes}}\n`;
};

test('a long record has the bytes that it would have in one piece, wherever it stands', async (t) => {
  const long = Array.from({ length: 300 }, (_, id) => change(id, 10_000));
  const records = [[change(1, 3)], long, [], [change(2, 3), change(3, 3)], long];
  const bytes = await encodeRecords(7, records);
  t.is(bytes.toString(), records.map((texts, index) => asOne(7 + index, 7, texts)).join(''));
  const second = bytes.subarray(bytes.indexOf('\n') + 1);
  const { seq, group, changes } = decodeRecord(second.subarray(0, second.indexOf('\n')));
  t.is(seq, 8);
  t.is(group, 7);
  t.is(changes.length, long.length);
});

test('the event loop has its turns while a long record is encoded', async (t) => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await encodeRecords(1, [Array.from({ length: 50 }, (_, id) => change(id, 200_000))]);
  isOver = true;
  t.true(turns >= 5, `${turns} turns`);
});
