import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { StoreLocked } from '../../src/store/storeErrors.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { emptyFolder, openStore } from './folders.ts';
import { creation, epoch, headStart } from './jobs.ts';

test('a folder that is open cannot be opened again, and can be after close', async (t) => {
  const path = await emptyFolder(t);
  const store = await openStore(t, path);
  await store.commit([creation('a')]);
  const second = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
  const error = await t.throwsAsync(second.open(), { instanceOf: StoreLocked });
  t.regex(error?.message ?? '', /in use by another process/);
  t.true(error?.message.includes(path));
  await second.close();
  await store.commit([creation('b')]);
  await store.close();
  const third = await openStore(t, path);
  t.is((await third.counts()).total, 2);
});

test('a refused start lets go of the folder', async (t) => {
  const path = await emptyFolder(t);
  const lock = async () => {
    throw new Error('no lock');
  };
  const store = createJsonStore({ path, clock: new FakeClock(epoch), headStart, lock });
  await t.throwsAsync(store.open(), { message: 'no lock' });
  await openStore(t, path);
});

test('kill -9 frees the folder and loses nothing acknowledged', async (t) => {
  const path = await emptyFolder(t);
  const child = spawn(process.execPath, [fileURLToPath(new URL('./holder.ts', import.meta.url)), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8');
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (text: string) => {
      said += text;
      if (said.split('\n').length > 50) resolve();
    });
  });
  const second = createJsonStore({ path, clock: new FakeClock(epoch), headStart });
  await t.throwsAsync(second.open(), { instanceOf: StoreLocked });
  const exit = once(child, 'close');
  child.kill('SIGKILL');
  await exit;
  const acknowledged = said.split('\n').slice(0, -1);
  const store = await openStore(t, path);
  for (const id of acknowledged) t.is((await store.job(id))?.id, id);
  t.true(acknowledged.length >= 49);
});
