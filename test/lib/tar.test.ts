import test from 'ava';
import { TarReader, tarEnd, tarHeader, tarPadding } from '../../src/lib/tar.ts';

/** The archive in pieces of a length that fits nothing in it. */
async function* inPieces(archive: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += 7) yield archive.subarray(at, at + 7);
}

function archiveOf(files: Record<string, string>): Buffer {
  const parts = Object.entries(files).flatMap(([name, text]) => {
    const bytes = Buffer.from(text);
    return [tarHeader({ name, bytes: bytes.length }, 0), bytes, tarPadding(bytes.length)];
  });
  return Buffer.concat([...parts, tarEnd]);
}

test('what is written into an archive is read from it', async (t) => {
  const files = { empty: '', 'a/b.json': 'Grüße', block: 'x'.repeat(512), more: 'y'.repeat(1300) };
  const reader = new TarReader(inPieces(archiveOf(files)));
  const read: Record<string, string> = {};
  for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
    const pieces: Buffer[] = [];
    for await (const piece of reader.contents(entry)) pieces.push(piece);
    read[entry.name] = Buffer.concat(pieces).toString('utf8');
  }
  await reader.end();
  t.deepEqual(read, files);
});

test('a file may be larger than the 8 GiB that octal digits can say', async (t) => {
  for (const bytes of [8 ** 11 - 1, 8 ** 11, 2 ** 45]) {
    const reader = new TarReader(inPieces(tarHeader({ name: 'large', bytes }, 0)));
    t.deepEqual(await reader.next(), { name: 'large', bytes });
  }
});

test('an archive that ends early, has another header or something else than files is refused', async (t) => {
  const archive = archiveOf({ a: 'text' });
  const cut = new TarReader(inPieces(archive.subarray(0, 514)));
  const entry = await cut.next();
  await t.throwsAsync(
    async () => {
      if (entry !== null) for await (const _ of cut.contents(entry));
    },
    { message: 'it ends early' },
  );
  archive[0] = 0x62;
  await t.throwsAsync(new TarReader(inPieces(archive)).next(), { message: /wrong checksum/ });
  t.throws(() => tarHeader({ name: 'n'.repeat(101), bytes: 0 }, 0), { message: /too long/ });
});
