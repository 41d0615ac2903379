import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { exitCodes } from '../../src/commands/exit.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { queryOf } from '../store/jobs.ts';
import { depth } from '../support/depth.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort, spawnCoordinator, startCoordinator } from '../support/process.ts';

/** One record of the journal: where it stands, and what is there once it is whole. */
interface RecordPlace {
  start: number;
  /** After its newline. */
  end: number;
  changes: { kind: string; id?: string; state?: string }[];
}

interface Written {
  folder: string;
  /** The journal's only file. */
  file: string;
  bytes: Buffer;
  records: RecordPlace[];
}

/** What a real coordinator leaves behind: twelve jobs, the sixth cancelled, killed after the last acknowledgement. */
async function written(t: ExecutionContext): Promise<Written> {
  const { client, folder, process } = await startCoordinator(t);
  for (let i = 0; i < 12; i += 1) {
    const { id } = await client.dispatch({ prompt: `Größe ${i}`, provider: 'echo' });
    if (i === 10) await client.cancel(id);
  }
  await process.kill();
  const [name, ...others] = await readdir(join(folder, 'journal'));
  t.deepEqual(others, []);
  const file = join('journal', name ?? '');
  const bytes = await readFile(join(folder, file));
  return { folder, file, bytes, records: placesOf(bytes) };
}

function placesOf(bytes: Buffer): RecordPlace[] {
  const places: RecordPlace[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf('\n', start) + 1;
    const { changes } = JSON.parse(bytes.toString('utf8', start, end)) as RecordPlace;
    places.push({ start, end, changes });
    start = end;
  }
  return places;
}

/** State by job of the records that are whole when the journal has `length` bytes. */
function statesAt(records: readonly RecordPlace[], length: number): Map<string, string> {
  const states = new Map<string, string>();
  for (const { end, changes } of records) {
    if (end > length) break;
    for (const { kind, id, state } of changes) if (kind === 'job') states.set(String(id), String(state));
  }
  return states;
}

async function statesIn(folder: string): Promise<Map<string, string>> {
  const store = createJsonStore({ path: folder, clock: systemClock, headStart: () => 0 });
  await store.open();
  try {
    const { jobs } = await store.jobs(queryOf({ limit: 1000 }));
    return new Map(jobs.reverse().map(({ id, state }) => [id, state]));
  } finally {
    await store.close();
  }
}

async function copyOf(t: ExecutionContext, folder: string): Promise<string> {
  const copy = join(temporaryFolder(t), 'copy');
  await cp(folder, copy, { recursive: true, filter: (from) => !from.endsWith('.sock') });
  return copy;
}

/** Every so many bytes; test/store/journal.test.ts cuts one that the store wrote by itself. */
const stride = depth(19, 1);

test('a journal that is cut at any byte of its last three records starts with all that was whole', async (t) => {
  const { folder, file, bytes, records } = await written(t);
  t.is(statesAt(records, bytes.length).size, 12);
  const begin = records.at(-3)?.start ?? 0;
  t.true(begin > 0 && bytes.length - begin > 500);
  // A start is mostly waiting for the disk: several at a time, each on a copy of its own.
  const lengths = Array.from({ length: bytes.length - begin + 1 }, (_, i) => begin + i)
    .filter((length) => length % stride === 0 || records.some(({ end }) => Math.abs(length - end) <= 2))
    .values();
  const cutter = async (): Promise<void> => {
    const copy = await copyOf(t, folder);
    for (const length of lengths) {
      await writeFile(join(copy, file), bytes.subarray(0, length));
      t.deepEqual(await statesIn(copy), statesAt(records, length), `cut at byte ${length}`);
    }
  };
  await Promise.all([cutter(), cutter(), cutter(), cutter()]);
});

test('the real process starts on a cut journal, says what it cut off, and takes new jobs', async (t) => {
  const { folder, file, bytes, records } = await written(t);
  const last = records.at(-1)?.start ?? 0;
  for (const length of [last, last + 1, last - 1, bytes.length - 1].slice(0, depth(2, 4))) {
    const copy = await copyOf(t, folder);
    await writeFile(join(copy, file), bytes.subarray(0, length));
    const coordinator = await startCoordinator(t, { folder: copy });
    const expected = statesAt(records, length);
    const { jobs } = await coordinator.client.jobs({ limit: 100 });
    const states = jobs.reverse().map(({ id, status }) => [id, status]);
    t.deepEqual(
      states,
      [...expected].map(([id, state]) => [id, state.split('.')[0]]),
      `cut at byte ${length}`,
    );
    if (length !== last) t.regex(coordinator.process.out, /"level":40/);
    const { id } = await coordinator.client.dispatch({ prompt: 'after', provider: 'echo' });
    await coordinator.process.kill();
    const again = await coordinator.again();
    t.is((await again.client.job(id)).prompt, 'after');
    t.is((await again.client.jobs()).total, expected.size + 1);
  }
});

test('a flipped bit in the middle of the journal refuses to start and names file and offset', async (t) => {
  const { folder, file, bytes, records } = await written(t);
  const { start, end } = records[5] ?? { start: 0, end: 0 };
  const damaged = Buffer.from(bytes);
  const at = Math.floor((start + end) / 2);
  damaged.writeUInt8(damaged.readUInt8(at) ^ 0x04, at);
  await writeFile(join(folder, file), damaged);
  const refused = spawnCoordinator(t, { folder, port: await freePort() });
  const { code } = await refused.exited;
  t.is(code, exitCodes.dataDamaged);
  t.true(refused.err.includes(join(folder, file)), refused.err);
  t.true(refused.err.includes(`byte ${start}`), refused.err);
  t.notRegex(refused.said(), /^\s+at /m);
  t.deepEqual(await readFile(join(folder, file)), damaged);
});

test('a second process on the same folder is refused, and the first goes on', async (t) => {
  const first = await startCoordinator(t);
  const second = spawnCoordinator(t, { folder: first.folder, port: await freePort() });
  const { code } = await second.exited;
  t.is(code, 1);
  t.regex(second.err, /in use by another process/);
  t.is((await first.client.dispatch({ prompt: 'still here', provider: 'echo' })).status, 'pending');
});
