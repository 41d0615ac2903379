/* Small files that are replaced whole: after a crash there is the old one or the new one, and perhaps a temporary file
   that the next start removes. */

import { dirname } from 'node:path';
import { messageOf } from '../../domain/errors.ts';
import { type Files, type OpenFile, readWhole, writeAll } from './files.ts';

let temporaryCount = 0;

/**
 * Replace a file so that after any crash it is the old one or the new one, whole: a temporary file in the same folder,
 * all bytes, fsync, rename, fsync of the folder. lowdb's own adapter syncs neither (typicode/lowdb#549), and
 * write-file-atomic does not sync the folder, without which a power failure may undo the rename.
 * @param write puts the contents into the open file.
 * @throws the error of the file system; the old file then remains, and the temporary one is removed if possible.
 */
export async function replaceFile(
  files: Files,
  path: string,
  write: (file: OpenFile) => Promise<void>,
): Promise<void> {
  temporaryCount += 1;
  const temporary = `${path}.${process.pid}-${temporaryCount}.tmp`;
  const file = await files.open(temporary, 'replace');
  try {
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await files.rename(temporary, path);
  } catch (error) {
    try {
      await files.remove(temporary);
    } catch (leftover) {
      // The next start removes it; report both causes.
      throw new Error(`${messageOf(error)}; ${temporary} is left behind: ${messageOf(leftover)}`, {
        cause: error,
      });
    }
    throw error;
  }
  await files.syncFolder(dirname(path));
}

/** A lowdb adapter for a small JSON file that is replaced durably. It satisfies lowdb's `Adapter<T>`. */
export class DurableJson<T> {
  readonly #files: Files;
  readonly #path: string;
  readonly #decode: (text: string) => T;

  /** @param decode parses the text of the file, and throws the error for the caller of `read` when it is damaged. */
  constructor(files: Files, path: string, decode: (text: string) => T) {
    this.#files = files;
    this.#path = path;
    this.#decode = decode;
  }

  /** null when there is no file. */
  async read(): Promise<T | null> {
    const bytes = await readWhole(this.#files, this.#path);
    return bytes === null ? null : this.#decode(bytes.toString('utf8'));
  }

  async write(data: T): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(data, null, 2)}\n`);
    await replaceFile(this.#files, this.#path, (file) => writeAll(file, bytes, 0));
  }
}
