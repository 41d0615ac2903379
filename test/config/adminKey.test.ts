import { chmod, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { adminKeyPath, readAdminKey, writeAdminKey } from '../../src/config/adminKey.ts';
import { folderWith } from './folder.ts';

test('a written key is read again, belongs to its owner alone and leaves no other file', async (t) => {
  const data = join(await folderWith(t), 'data');
  await writeAdminKey(data, 'svc_admin_first');
  await writeAdminKey(data, 'svc_admin_second');

  t.is(await readAdminKey(data), 'svc_admin_second');
  t.is((await stat(adminKeyPath(data))).mode & 0o777, 0o600);
  t.is((await stat(data)).mode & 0o777, 0o700);
  t.deepEqual(await readdir(data), ['admin.key']);
});

test('a key that others could read is replaced by one that only the owner can', async (t) => {
  const data = await folderWith(t, { 'admin.key': 'old' });
  await chmod(adminKeyPath(data), 0o644);
  await writeAdminKey(data, 'new');
  t.is((await stat(adminKeyPath(data))).mode & 0o777, 0o600);
});

test('there is no key without the file, without the folder, or in an empty file', async (t) => {
  const folder = await folderWith(t);
  t.is(await readAdminKey(folder), null);
  t.is(await readAdminKey(join(folder, 'absent')), null);
  await writeFile(adminKeyPath(folder), '\n');
  t.is(await readAdminKey(folder), null);
});
