import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { chartFiles } from './files.ts';

/**
 * `npm run charts`: lays the machines out and writes their pictures. The files are checked in, and a test checks that
 * they match the machines: so neither the page's build nor an install needs the layout engine, and a review shows how a
 * change affects the picture.
 */
const root = resolve(import.meta.dirname, '../..');
for (const [path, text] of await chartFiles()) {
  const file = resolve(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
