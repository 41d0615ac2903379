import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { StoreCorrupt } from '../../src/store/json/errors.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { depth } from '../support/depth.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { unsyncedFiles } from './failingFiles.ts';
import { emptyFolder, noLock } from './folders.ts';
import { creation, epoch, headStart } from './jobs.ts';

const files = unsyncedFiles();
const newStore = (path: string) =>
  createJsonStore({ path, clock: new FakeClock(epoch), headStart, files, lock: noLock });

/** A journal, and where each of its groups ends. */
interface Journal {
  path: string;
  file: string;
  bytes: Buffer;
  /** Of each group in turn: the jobs that it makes, and its end. */
  groups: { ids: string[]; end: number }[];
}

/** Groups of records, each one write: of one record, of many, of one over many pages, and of some with such a one. */
async function written(t: ExecutionContext): Promise<Journal> {
  const path = await emptyFolder(t);
  const file = join(path, 'journal', '0000000000000001.ndjson');
  const store = newStore(path);
  await store.open();
  for (const [number, prompts] of [
    [9],
    [9],
    Array(30).fill(300),
    [9],
    [20_000],
    [300, 15_000, 300],
  ].entries()) {
    const commits = prompts.map((length, index) =>
      store.commit([creation(`job-${number}-${index}`, { request: { prompt: 'p'.repeat(length) } })]),
    );
    await Promise.all(commits);
  }
  await store.close();
  const bytes = await readFile(file);
  return { path, file, bytes, groups: groupsOf(bytes) };
}

function groupsOf(bytes: Buffer): Journal['groups'] {
  const groups: Journal['groups'] = [];
  let end = 0;
  for (const line of bytes.toString().split('\n').slice(0, -1)) {
    const { group, changes } = JSON.parse(line);
    if (group === undefined) groups.push({ ids: [], end });
    end += line.length + 1;
    const last = groups[groups.length - 1];
    if (last === undefined) throw new Error('the journal begins in a group');
    last.end = end;
    last.ids.push(changes[0].id);
  }
  return groups;
}

/** The ranges that a lost page of this size may take from a write. */
function* pagesOf(from: number, to: number, pageBytes: number): Generator<[number, number]> {
  for (let at = from - (from % pageBytes); at < to; at += pageBytes)
    yield [Math.max(at, from), Math.min(at + pageBytes, to)];
}

function without(bytes: Buffer, lost: readonly (readonly [number, number])[]): Buffer {
  const damaged = Buffer.from(bytes);
  for (const [from, to] of lost) damaged.fill(0, from, to);
  return damaged;
}

/** Open it: what was acknowledged before the last group is there, and of that a beginning; and work goes on. */
async function startsWithoutLast(
  t: ExecutionContext,
  journal: Journal,
  last: number,
  bytes: Buffer,
  what: string,
) {
  await writeFile(journal.file, bytes);
  const store = newStore(journal.path);
  await store.open();
  const acknowledged = journal.groups.slice(0, last).flatMap(({ ids }) => ids);
  const ids = journal.groups[last]?.ids ?? [];
  const { total } = await store.counts();
  t.true(total >= acknowledged.length && total < acknowledged.length + ids.length, `${what}: ${total} jobs`);
  for (const id of [...acknowledged, ...ids].slice(0, total)) t.truthy(await store.job(id), `${what}: ${id}`);
  await store.commit([creation('after')]);
  await store.close();
  const again = newStore(journal.path);
  await again.open();
  t.is((await again.job('after'))?.ordinal, total + 1, what);
  await again.close();
}

/** Every so many pages of a group one is lost. */
const stride = depth(4, 1);

test('a group of which any page is lost was never acknowledged, and is cut off', async (t) => {
  t.timeout(120_000);
  const journal = await written(t);
  t.true(
    journal.groups.some(({ ids }) => ids.length >= 12),
    'there is a group of many records',
  );
  for (const [last, { end }] of journal.groups.entries()) {
    const from = journal.groups[last - 1]?.end ?? 0;
    const whole = journal.bytes.subarray(0, end);
    for (const pageBytes of [512, 4096]) {
      const pages = [...pagesOf(from, end, pageBytes)];
      for (const [index, page] of pages.entries()) {
        // The first and the last are always among them.
        if (index % stride !== 0 && index !== pages.length - 1) continue;
        const what = `group ${last}, page ${index} of ${pages.length}`;
        await startsWithoutLast(t, journal, last, without(whole, [page]), what);
        // Another one too, and the end of the file.
        const other = pages[(index * 7 + 3) % pages.length] ?? page;
        await startsWithoutLast(t, journal, last, without(whole, [page, other]), `${what}, and another`);
        const cut = without(whole, [page]).subarray(0, Math.max(page[1], end - 700));
        await startsWithoutLast(t, journal, last, cut, `${what}, and the end`);
      }
    }
  }
});

test('a lost page under a later group is damage: what it held was acknowledged', async (t) => {
  const journal = await written(t);
  for (const [number, { end }] of journal.groups.slice(0, -1).entries()) {
    const from = journal.groups[number - 1]?.end ?? 0;
    for (const [index, page] of [...pagesOf(from, end, 512)].entries()) {
      if (index % stride !== 0) continue;
      await writeFile(journal.file, without(journal.bytes, [page]));
      const error = await t.throwsAsync(
        newStore(journal.path).open(),
        { instanceOf: StoreCorrupt },
        `group ${number} ${page}, it ends at ${end}`,
      );
      t.regex(error?.message ?? '', /docs\/operations\.md/);
    }
  }
});

test('in the last group too, a flipped bit is damage, and so are zeros that fill no sector', async (t) => {
  const journal = await written(t);
  const last = journal.groups.length - 1;
  const from = journal.groups[last - 1]?.end ?? 0;
  for (let at = from; at < journal.bytes.length - 1; at += depth(401, 97)) {
    const flipped = Buffer.from(journal.bytes);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    const zeroed = without(journal.bytes, [[at, Math.min(at + 5, journal.bytes.length - 1)]]);
    for (const damaged of at % 512 > 500 || at === from ? [flipped] : [flipped, zeroed]) {
      await writeFile(journal.file, damaged);
      await t.throwsAsync(newStore(journal.path).open(), { instanceOf: StoreCorrupt }, `at ${at}`);
      t.deepEqual(await readFile(journal.file), damaged);
    }
  }
});
