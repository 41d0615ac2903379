import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What a folder takes of the disk, as far as its files stay while it is read. */
export function folderBytes(folder: string): number {
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const entry = statSync(join(folder, name), { throwIfNoEntry: false });
    if (entry?.isFile() === true) bytes += entry.blocks * 512;
  }
  return bytes;
}
