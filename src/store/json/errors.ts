/* Errors of the JSON files: where they are damaged, and that their folder cannot be used. */

import { DataDamaged, messageOf } from '../../domain/errors.ts';
import { StoreUnusable } from '../storeErrors.ts';

/** The folder cannot be read or written: missing rights, a read-only file system, no folder, a failing disk. */
export function folderUnusable(folder: string, cause: unknown): StoreUnusable {
  return new StoreUnusable(
    `${folder} cannot be used for the data: ${messageOf(cause)}. It must be a folder that this process may create, read and write (store.path, --data-dir)`,
    cause,
  );
}

/** A record in the middle of the data cannot be read; it is never repaired by dropping it. */
export class StoreCorrupt extends DataDamaged {
  readonly file: string;
  readonly offset: number;
  constructor(file: string, offset: number, what: string) {
    super(`${file} is damaged at byte ${offset}: ${what}`);
    this.name = 'StoreCorrupt';
    this.file = file;
    this.offset = offset;
  }
}
