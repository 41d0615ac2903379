import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { growingFile, replacedFile } from '../../src/lib/replacedFile.ts';
import { temporaryFolder } from '../support/folder.ts';

test('a file is replaced when its new version is finished, and keeps its mode', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'a');
  writeFileSync(path, 'old');
  chmodSync(path, 0o640);
  symlinkSync(path, join(folder, 'link'));
  const file = await replacedFile(join(folder, 'link'));
  await file.write('new '.repeat(100_000));
  t.is(readFileSync(path, 'utf8'), 'old');
  await file.write('end');
  await file.finish();
  t.true(readFileSync(path, 'utf8').endsWith('new end'));
  t.is(statSync(path).mode & 0o777, 0o640);
  t.deepEqual(readdirSync(folder).sort(), ['a', 'link']);
});

test('what is discarded leaves nothing, and the old file as it was', async (t) => {
  const folder = temporaryFolder(t);
  const file = await replacedFile(join(folder, 'a'));
  await file.write('half');
  await file.flush();
  await file.discard();
  t.deepEqual(readdirSync(folder), []);
  await t.throwsAsync(replacedFile(join(folder, 'none', 'a')), { code: 'ENOENT' });
  const device = await replacedFile('/dev/null');
  await device.write('x');
  await device.finish();
  t.true(statSync('/dev/null').isCharacterDevice());
});

test('a file that grows shows what was flushed', async (t) => {
  const path = join(temporaryFolder(t), 'a');
  writeFileSync(path, 'old');
  const file = await growingFile(path);
  t.is(readFileSync(path, 'utf8'), '');
  await file.write('one\n');
  await file.flush();
  t.is(readFileSync(path, 'utf8'), 'one\n');
  await file.discard();
  t.is(statSync(path).mode & 0o777, 0o644);
});
