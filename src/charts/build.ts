import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { chartFiles } from './files.ts';

/**
 * `npm run charts`: lays the machines out and writes their pictures. The files are checked in, and a test holds that they
 * are those of the machines: so neither the page's build nor an install needs the layout engine, and a change of a
 * machine shows in review as a change of its picture.
 */
const root = resolve(import.meta.dirname, '../..');
for (const [path, text] of await chartFiles()) {
  const file = resolve(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
