import { mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { FakeClock } from '../support/fakeClock.ts';
import { FailingFiles, systemError } from './failingFiles.ts';
import { emptyFolder, openStore } from './folders.ts';
import { creation, epoch } from './jobs.ts';

/** How often the journal is looked at, ms. */
const lookMs = 1_000;

/** A store with five jobs, and its clock in the hands of the test. */
async function setup(t: ExecutionContext) {
  const path = await emptyFolder(t);
  const files = new FailingFiles();
  const said: string[] = [];
  const clock = new FakeClock(epoch);
  let armed = Promise.withResolvers<void>();
  const store = await openStore(t, path, {
    files,
    logger: pino({ level: 'warn' }, { write: (line: string) => said.push(line) }),
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (delayMs, task) => {
        armed.resolve();
        return clock.after(delayMs, task);
      },
    },
  });
  for (let i = 0; i < 5; i += 1) await store.commit([creation(`job-${i}`)]);
  const names = () => readdir(join(path, 'journal'));
  return {
    path,
    files,
    said,
    store,
    journal: join(path, 'journal', (await names())[0] ?? ''),
    names,
    /** The next look, from its begin to its end. */
    async look(): Promise<void> {
      armed = Promise.withResolvers();
      clock.advance(lookMs);
      await Promise.race([armed.promise, store.failed]);
    },
  };
}

interface Harm {
  what: string;
  says: RegExp;
  do(journal: string, path: string): Promise<void>;
}

const harms: Harm[] = [
  { what: 'emptied', says: /cut at byte \d+ or before/, do: (journal) => truncate(journal) },
  {
    what: 'cut by one byte',
    says: /cut at byte \d+ or before/,
    do: async (journal) => truncate(journal, (await readFile(journal)).length - 1),
  },
  { what: 'removed', says: /removed or renamed/, do: (journal) => rm(journal) },
  { what: 'renamed', says: /removed or renamed/, do: (journal) => rename(journal, `${journal}.old`) },
  {
    what: 'replaced by a copy',
    says: /replaced by another file/,
    do: async (journal) => {
      await writeFile(`${journal}.copy`, await readFile(journal));
      await rename(`${journal}.copy`, journal);
    },
  },
  {
    what: 'removed with its folder',
    says: /removed or renamed/,
    do: (_, path) => rm(path, { recursive: true }),
  },
];

for (const { what, says, do: harm } of harms) {
  for (const isWriting of [false, true]) {
    const when = isWriting ? 'while commits go on' : 'while nothing is written';
    test(`${when}, a journal that is ${what} fails the store at the next look, for good`, async (t) => {
      const { path, store, journal, look } = await setup(t);
      await look();
      await harm(journal, path);
      // It goes well: an open file takes everything.
      if (isWriting) await store.commit([creation('later')]);
      t.is(store.health().status, 'ok');
      await look();
      const { message } = await store.failed;
      t.regex(message, says);
      t.true(message.startsWith(journal), message);
      t.like(store.health(), { status: 'failed', detail: message });
      await t.throwsAsync(store.commit([creation('refused')]), { name: 'StoreUnavailable', message: says });
      t.is((await store.counts()).total, isWriting ? 6 : 5);
    });
  }
}

test('a journal that is cut before its first look is found by it, however much is written after', async (t) => {
  const { store, journal, look } = await setup(t);
  await truncate(journal);
  for (let i = 0; i < 50; i += 1) await store.commit([creation(`later-${i}`)]);
  await look();
  t.regex((await store.failed).message, /cut at byte 0 or before/);
});

test('a commit whose write is under way when the journal is found lost is refused', async (t) => {
  const { files, store, journal, look } = await setup(t);
  const gate = Promise.withResolvers<void>();
  files.gate = gate.promise;
  const writing = new Promise<void>((resolve) => {
    files.before = ({ name }) => {
      if (name === 'sync') resolve();
    };
  });
  const commit = store.commit([creation('late')]);
  await writing;
  await rm(journal);
  await look();
  t.is(store.health().status, 'failed');
  gate.resolve();
  await t.throwsAsync(commit, { name: 'StoreUnavailable', message: /removed or renamed/ });
  t.is(await store.job('late'), undefined);
});

test('a lost journal is not sealed: a new one in a folder that was made again would look all right', async (t) => {
  const { path, store, names, look } = await setup(t);
  await rm(path, { recursive: true });
  await mkdir(join(path, 'journal'), { recursive: true });
  await t.throwsAsync(store.checkpoint(), { name: 'JournalLost' });
  t.deepEqual(await names(), []);
  await look();
  t.is(store.health().status, 'failed');
});

test('looks beside commits and checkpoints, at any of their steps, find nothing amiss', async (t) => {
  const { files, store, look, said } = await setup(t);
  let looks = 0;
  files.before = ({ name }) => {
    if (name === 'identityAt' || name === 'identity' || looks > 0) return;
    looks += 1;
    void look().then(() => {
      looks -= 1;
    });
  };
  for (let i = 0; i < 30; i += 1) {
    await Promise.all([store.commit([creation(`a-${i}`)]), store.commit([creation(`b-${i}`)])]);
    if (i % 3 === 0) await store.checkpoint();
  }
  files.before = () => {};
  await look();
  t.true((files.counts.get('identityAt') ?? 0) > 50, `${files.counts.get('identityAt')} looks`);
  t.deepEqual(said, []);
  t.is(store.health().status, 'ok');
  t.is((await store.counts()).total, 65);
});

test('a look during which the journal is sealed and goes into a checkpoint finds nothing amiss', async (t) => {
  const { files, store, journal, names, look, said } = await setup(t);
  const gate = Promise.withResolvers<void>();
  const identityAt = files.identityAt.bind(files);
  files.identityAt = async (path) => {
    // What seals it looks at it too.
    files.identityAt = identityAt;
    await gate.promise;
    return identityAt(path);
  };
  const looking = look();
  await store.checkpoint();
  t.false((await names()).includes(basename(journal)));
  gate.resolve();
  await looking;
  t.deepEqual(said, []);
  t.is(store.health().status, 'ok');
  await store.commit([creation('later')]);
});

test('not to be able to look is told once and is no loss; the next look that can sees it', async (t) => {
  const { files, store, journal, look, said } = await setup(t);
  files.before = ({ name }) => {
    if (name === 'identityAt') throw systemError('EACCES');
  };
  await look();
  await look();
  t.is(said.length, 1);
  t.regex(said[0] ?? '', /EACCES.*cannot check/);
  t.is(store.health().status, 'ok');
  await store.commit([creation('meanwhile')]);
  await rm(journal);
  files.before = () => {};
  await look();
  t.regex((await store.failed).message, /removed or renamed/);
});

test('a store that is closed looks no more', async (t) => {
  const { files, store, look } = await setup(t);
  await look();
  const looks = files.counts.get('identityAt');
  await store.close();
  await Promise.race([look(), Promise.resolve()]);
  t.is(files.counts.get('identityAt'), looks);
});
