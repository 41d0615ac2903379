import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { filesIn } from '../lib/filesIn.ts';
import { projectFolder } from '../lib/projectFolder.ts';

/** Where the build puts the page. */
const pageFolder = join(projectFolder, 'dist/companion');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  type: string;
  bytes: Buffer;
}

/** The files of the page in memory, by path. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** @returns the files of the built page; without a build one text that says how to make it. */
export function readPage(): PageFiles {
  const files = new Map<string, PageFile>();
  for (const name of filesIn(pageFolder)) {
    const type = types[extname(name)];
    if (type !== undefined) files.set(name, { type, bytes: readFileSync(join(pageFolder, name)) });
  }
  if (files.size === 0) {
    const bytes = Buffer.from('The page of the companion is not built. Build it with: npm run build\n');
    files.set('index.html', { type: 'text/plain; charset=utf-8', bytes });
  }
  return files;
}
