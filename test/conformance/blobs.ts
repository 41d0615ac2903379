import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { BlobMissing, type Blobs } from '../../src/store/blobs.ts';

/** Where blobs are kept, over several starts. */
export interface BlobPlace {
  /** Not opened yet. */
  create(): Blobs;
  /** Writes fail from now on with ENOSPC, after this many more bytes. */
  fillUp(bytes: number): void;
  /** Writes work again. */
  makeRoom(): void;
}

/** What every implementation of `Blobs` promises. */
// Over 60 lines: a list of tests that share nothing but their place.
export function blobConformance(
  name: string,
  createPlace: (t: ExecutionContext) => Promise<BlobPlace>,
): void {
  const setup = async (t: ExecutionContext) => {
    const place = await createPlace(t);
    const open = async (): Promise<Blobs> => {
      const blobs = place.create();
      await blobs.open();
      return blobs;
    };
    return { place, open, blobs: await open() };
  };

  test(`${name}: a blob is there with all of its bytes when it is finished, and after a restart`, async (t) => {
    const { blobs, open } = await setup(t);
    const bytes = randomBytes(200_000);
    const draft = await blobs.create('a-1_B');
    for (let at = 0; at < bytes.length; at += 70_000) await draft.write(bytes.subarray(at, at + 70_000));
    t.deepEqual([await blobs.list(), await blobs.size('a-1_B')], [[], null]);
    await draft.finish();
    await draft.abandon();
    for (const now of [blobs, await open()]) {
      t.deepEqual(await now.list(), ['a-1_B']);
      t.is(await now.size('a-1_B'), bytes.length);
      t.true((await wholeOf(now, 'a-1_B')).equals(bytes));
      t.true((await wholeOf(now, 'a-1_B', 65_000, 140_000)).equals(bytes.subarray(65_000, 140_000)));
      t.true((await wholeOf(now, 'a-1_B', 199_999, 1_000_000)).equals(bytes.subarray(199_999)));
    }
  });

  test(`${name}: an empty blob is one`, async (t) => {
    const { blobs } = await setup(t);
    await (await blobs.create('empty')).finish();
    t.is(await blobs.size('empty'), 0);
    t.is((await wholeOf(blobs, 'empty')).length, 0);
  });

  test(`${name}: of what was not finished nothing remains, abandoned or after a crash`, async (t) => {
    const { blobs, open } = await setup(t);
    const abandoned = await blobs.create('one');
    await abandoned.write(Buffer.from('one'));
    await abandoned.abandon();
    const crashed = await blobs.create('two');
    await crashed.write(Buffer.from('two'));
    const after = await open();
    t.deepEqual(await after.list(), []);
    t.is(await after.size('two'), null);
    await t.throwsAsync(wholeOf(after, 'two'), { instanceOf: BlobMissing });
    await crashed.abandon();
  });

  test(`${name}: a blob is replaced as a whole; who reads it reads the old one`, async (t) => {
    const { blobs } = await setup(t);
    await put(blobs, 'x', Buffer.alloc(150_000, 'a'));
    const reader = blobs.read('x');
    const first = await reader.next();
    await put(blobs, 'x', Buffer.alloc(10, 'b'));
    let rest = first.done === true ? '' : first.value.toString();
    for await (const piece of reader) rest += piece.toString();
    t.is(rest, 'a'.repeat(150_000));
    t.is((await wholeOf(blobs, 'x')).toString(), 'b'.repeat(10));
  });

  test(`${name}: who reads a blob reads it to its end, whoever removes it meanwhile`, async (t) => {
    const { blobs } = await setup(t);
    await put(blobs, 'x', Buffer.alloc(300_000, 'x'));
    const reader = blobs.read('x');
    let count = 0;
    for await (const piece of reader) {
      if (count === 0) await blobs.remove('x');
      count += piece.length;
    }
    t.is(count, 300_000);
    t.deepEqual(await blobs.list(), []);
    await blobs.remove('x');
  });

  test(`${name}: what is appended can be read at once, up to where it ended when the reading began`, async (t) => {
    const { blobs, open } = await setup(t);
    const appender = await blobs.append('log');
    await appender.append(Buffer.alloc(70_000, 'a'));
    t.is(appender.size, 70_000);
    const reader = blobs.read('log');
    const first = await reader.next();
    await appender.append(Buffer.from('more'));
    let count = first.done === true ? 0 : first.value.length;
    for await (const piece of reader) count += piece.length;
    t.is(count, 70_000);
    t.is((await wholeOf(blobs, 'log', 70_000)).toString(), 'more');
    await appender.close();
    const after = await open();
    t.deepEqual(await after.list(), ['log']);
    const again = await after.append('log');
    t.is(again.size, 70_004);
    await again.append(Buffer.from('!'));
    await again.close();
    t.is((await wholeOf(after, 'log', 70_000)).toString(), 'more!');
  });

  test(`${name}: a full disk fails the draft alone; the blob of its id and the appended bytes stay`, async (t) => {
    const { blobs, place } = await setup(t);
    await put(blobs, 'x', Buffer.from('old'));
    const appender = await blobs.append('log');
    await appender.append(Buffer.from('one'));
    const draft = await blobs.create('x');
    place.fillUp(100);
    await t.throwsAsync(draft.write(Buffer.alloc(1_000)), { code: 'ENOSPC' });
    await draft.abandon();
    await t.throwsAsync(appender.append(Buffer.alloc(1_000)), { code: 'ENOSPC' });
    t.is((await wholeOf(blobs, 'x')).toString(), 'old');
    t.is((await wholeOf(blobs, 'log')).toString(), 'one');
    place.makeRoom();
    await appender.append(Buffer.from('two'));
    await appender.close();
    t.is((await wholeOf(blobs, 'log')).toString(), 'onetwo');
    t.deepEqual((await blobs.list()).sort(), ['log', 'x']);
  });

  test(`${name}: an id is no path`, async (t) => {
    const { blobs } = await setup(t);
    for (const id of ['', '../x', 'a/b', 'a.b', 'a\0'])
      await t.throwsAsync(blobs.create(id), { message: /letters, digits/ });
  });
}

async function put(blobs: Blobs, id: string, bytes: Buffer): Promise<void> {
  const draft = await blobs.create(id);
  await draft.write(bytes);
  await draft.finish();
}

async function wholeOf(blobs: Blobs, ...range: Parameters<Blobs['read']>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of blobs.read(...range)) pieces.push(piece);
  return Buffer.concat(pieces);
}
