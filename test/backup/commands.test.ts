import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { tarEnd, tarHeader, tarPadding } from '../../src/lib/tar.ts';
import { formatVersion } from '../../src/store/json/layout.ts';
import { type Ended, svc, svcProcess } from '../commands/cli.ts';
import { openStore } from '../store/folders.ts';
import { creation, queryOf } from '../store/jobs.ts';
import { temporaryFolder } from '../support/folder.ts';
import { startCoordinator } from '../support/process.ts';

/** A data folder with a job, and its backup. */
async function setup(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const store = await openStore(t, data);
  await store.commit([creation('job-1')]);
  await store.close();
  writeFileSync(join(data, 'admin.key'), 'svc_admin_1234\n', { mode: 0o600 });
  const file = join(folder, 'one.tar.gz');
  const made = await svc(t, ['backup', '--data-dir', data, file]);
  t.is(made.code, 0, made.stderr);
  const restore = (...args: string[]): Promise<Ended> =>
    svc(t, ['restore', ...args, '--data-dir', join(folder, 'new')]);
  return { folder, data, file, made, restore, target: join(folder, 'new') };
}

const umask = 0o777;

test('svc backup and svc restore: an ordinary archive that only its owner can read, and the folder again', async (t) => {
  const { folder, data, file, made, restore, target } = await setup(t);
  t.regex(made.stdout, /one\.tar\.gz: \d+ files, \d+ KiB, up to record 1, taken at 2/);
  t.is(statSync(file).mode & umask, 0o600);
  t.regex((await svc(t, ['backup', '--check', file])).stdout, /: good\n$/);
  const listed = spawn('tar', ['-tzf', file]);
  let names = '';
  for await (const text of listed.stdout.setEncoding('utf8')) names += text;
  t.deepEqual(names.split('\n').slice(-3), ['admin.key', 'backup.json', '']);

  const restored = await restore(file);
  t.is(restored.code, 0, restored.stderr);
  t.is(readFileSync(join(target, 'admin.key'), 'utf8'), 'svc_admin_1234\n');
  t.is(statSync(join(target, 'coordinator.json')).mode & umask, 0o600);
  t.is(statSync(target).mode & umask, 0o700);
  t.deepEqual(readdirSync(target).sort(), ['admin.key', 'coordinator.json', 'journal']);
  const store = await openStore(t, target);
  t.is((await store.jobs(queryOf())).total, 1);

  const again = await svc(t, ['backup', '--data-dir', data, file]);
  t.is(again.code, 5);
  t.regex(again.stderr, /exists already/);
  const nothing = await svc(t, ['backup', '--data-dir', join(folder, 'nowhere'), folder]);
  t.is(nothing.code, 5);
  t.regex(nothing.stderr, /has no data of a coordinator/);
  const json = await svc(t, ['backup', '--data-dir', data, '--json', folder]);
  t.like(JSON.parse(json.stdout), { backup: 1, seq: 1, format: formatVersion });
});

test('svc restore replaces nothing unless it is told to, and then keeps what was there', async (t) => {
  const { file, restore, target } = await setup(t);
  mkdirSync(target);
  writeFileSync(join(target, 'coordinator.json'), 'other');
  const refused = await restore(file);
  t.is(refused.code, 5);
  t.regex(refused.stderr, /is not empty; nothing was changed\. --replace/);
  t.deepEqual(readdirSync(target), ['coordinator.json']);

  t.is((await restore('--replace', file)).code, 0);
  const [former = ''] = readdirSync(target).filter((name) => name.startsWith('before-restore-'));
  t.is(readFileSync(join(target, former, 'coordinator.json'), 'utf8'), 'other');
  const store = await openStore(t, target);
  const used = await restore('--replace', file);
  t.is(used.code, 5);
  t.regex(used.stderr, /is in use by another process/);
  await store.close();
});

test('a backup that is damaged in any way is not restored', async (t) => {
  const { folder, file, restore, target } = await setup(t);
  const good = gunzipSync(readFileSync(file));
  const flipped = Buffer.from(good);
  flipped[good.indexOf('"prompt"')] = 0x27;
  const hostile = Buffer.from('x');
  const header = tarHeader({ name: '../x', bytes: 1 }, 0);
  const cases: [name: string, bytes: Buffer, why: RegExp][] = [
    ['cut', readFileSync(file).subarray(0, -40), /unexpected end of file/],
    ['text', Buffer.from('hello'), /incorrect header check/],
    ['flipped', gzipSync(flipped), /has another checksum/],
    ['short', gzipSync(good.subarray(0, 1024)), /it ends early/],
    ['empty', gzipSync(tarEnd), /has no backup\.json/],
    [
      'hostile',
      gzipSync(Buffer.concat([header, hostile, tarPadding(1), tarEnd])),
      /has no place in a data folder/,
    ],
  ];
  for (const [name, bytes, why] of cases) {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    for (const { code, stderr } of [await restore(path), await svc(t, ['backup', '--check', path])]) {
      t.is(code, 65, name);
      t.regex(stderr, why);
    }
    t.deepEqual(readdirSync(target), [], name);
  }
});

test('a backup of a coordinator under load, which is then killed, has every acknowledged job', async (t) => {
  const folder = temporaryFolder(t);
  const coordinator = await startCoordinator(t, { folder: join(folder, 'data') });
  const acknowledged: string[] = [];
  let isOver = false;
  const senders = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const { id } = await coordinator.client.dispatch({ prompt: 'p'.repeat(500), provider: 'nobody' });
      acknowledged.push(id);
    }
  });
  const refused = Promise.allSettled(senders);
  while (acknowledged.length < 200) await new Promise(setImmediate);
  const before = [...acknowledged];
  const file = join(folder, 'one.tar.gz');
  const made = await svc(t, ['backup', '--data-dir', coordinator.folder, file]);
  t.is(made.code, 0, made.stderr);
  isOver = true;
  await coordinator.process.kill();
  await refused;

  const target = join(folder, 'new');
  const restored = await svc(t, ['restore', '--data-dir', target, file]);
  t.is(restored.code, 0, restored.stderr);
  const again = await startCoordinator(t, { folder: target });
  for (const id of before) t.is((await again.client.job(id)).status, 'pending');
});

test('a backup that is killed leaves no file of its name, and does not disturb the next', async (t) => {
  const { folder, data } = await setup(t);
  const random = (bytes: number): string =>
    Array.from({ length: bytes }, () => Math.random().toString(36)[2]).join('');
  const store = await openStore(t, data);
  await store.commit(
    Array.from({ length: 400 }, (_, n) => creation(`n-${n}`, { request: { prompt: random(20_000) } })),
  );
  await store.close();
  const file = join(folder, 'two.tar.gz');
  const killed = await svcProcess(t, ['backup', '--data-dir', data, file], {
    onStart: (kill) => {
      const seen = setInterval(() => {
        if (!readdirSync(folder).some((name) => name.endsWith('.tmp'))) return;
        clearInterval(seen);
        kill('SIGKILL');
      }, 1);
      t.teardown(() => clearInterval(seen));
    },
  });
  t.is(killed.code, null);
  t.false(readdirSync(folder).includes('two.tar.gz'));
  t.is((await svc(t, ['backup', '--data-dir', data, file])).code, 0);
  t.is((await svc(t, ['backup', '--check', file])).code, 0);
});

test('what cannot be written is named', async (t) => {
  const { data, folder } = await setup(t);
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  const { code, stderr } = await svc(t, ['backup', '--data-dir', data, join(closed, 'none', 'x.tar.gz')]);
  t.is(code, 1);
  t.regex(stderr, /ENOENT|EACCES/);
});
