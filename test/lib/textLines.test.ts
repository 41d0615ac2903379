import test from 'ava';
import fc from 'fast-check';
import { textLines } from '../../src/lib/textLines.ts';
import { fuzzOptions } from '../support/fuzz.ts';

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

async function read(text: string | Buffer, size = 5, bytesMax = 100) {
  const lines = [];
  for await (const some of textLines(piecesOf(Buffer.from(text), size), bytesMax)) lines.push(...some);
  return lines;
}

test('lines are read however the pieces of a file fall, without those that are blank', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.stringMatching(/^[aé\t {}😀]{0,6}$/u)),
      fc.integer({ min: 1, max: 9 }),
      async (texts, size) => {
        const endOf = (place: number) => Buffer.byteLength(`${texts.slice(0, place + 1).join('\n')}\n`);
        const wanted = texts.flatMap((text, place) =>
          text.trim() === '' ? [] : [[place + 1, text, endOf(place)]],
        );
        const lines = await read(texts.map((text) => `${text}\n`).join(''), size);
        return (
          JSON.stringify(lines.map(({ number, text, end }) => [number, text, end])) === JSON.stringify(wanted)
        );
      },
    ),
    fuzzOptions(200),
  );
  t.pass();
});

test('a file may end without a line end, and begin with a byte order mark', async (t) => {
  t.like(await read('\ufeffa\nb'), [
    { number: 1, text: 'a' },
    { number: 2, text: 'b' },
  ]);
});

test('a line that is too long or not UTF-8 is told as such, and the others are read', async (t) => {
  const bytes = Buffer.concat([
    Buffer.from(`a\n${'x'.repeat(101)}\n`),
    Buffer.from([0xff, 0xfe, 0x0a]),
    Buffer.from('b'),
  ]);
  t.deepEqual(
    (await read(bytes, 7)).map(({ number, text, fault, bytes: length }) => [number, text, fault, length]),
    [
      [1, 'a', null, 1],
      [2, '', 'too_long', 101],
      [3, '', 'not_utf8', 2],
      [4, 'b', null, 1],
    ],
  );
});
