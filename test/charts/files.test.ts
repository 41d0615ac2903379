import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { chartFiles } from '../../src/charts/files.ts';

const root = resolve(import.meta.dirname, '../..');

test('the pictures of the machines are those of the machines as they are; if not: npm run charts', async (t) => {
  for (const [path, text] of await chartFiles()) t.is(readFileSync(resolve(root, path), 'utf8'), text, path);
});

test('a machine has one picture, every time', async (t) => {
  t.deepEqual(await chartFiles(), await chartFiles());
});

test('every picture is shown somewhere in the docs, in light and in dark', async (t) => {
  const pages = ['README.md', 'docs/api.md', 'docs/operations.md', 'docs/development.md'];
  const text = pages.map((page) => readFileSync(resolve(root, page), 'utf8')).join('\n');
  for (const path of (await chartFiles()).keys()) {
    if (path.endsWith('.svg')) t.true(text.includes(path.replace('docs/', '')), path);
  }
});
