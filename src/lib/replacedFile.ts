import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Characters that are gathered before they are written. */
const gatheredMax = 256 * 1024;

/** A file that is written piece by piece. */
export interface GrowingFile {
  write(text: string): Promise<void>;
  /** Write what was gathered. */
  flush(): Promise<void>;
  /** All of it is on the disk, and the file has its name. */
  finish(): Promise<void>;
  /** Give up: a file that was to be replaced is unchanged. */
  discard(): Promise<void>;
}

/**
 * A new version of a file that takes its place only when it is finished, so that nobody ever sees half of it. It is
 * written beside it. A device or a pipe (`/dev/stdout`) is written as it is. Keeps the mode; a new file is readable only
 * by its owner.
 * @throws as node:fs does.
 */
export async function replacedFile(path: string): Promise<GrowingFile> {
  const target = await realpath(path).catch(() => path);
  const found = await stat(target).catch(() => null);
  if (found !== null && !found.isFile()) return growingFile(path);
  const temporary = join(dirname(target), `.${process.pid}.${Date.now()}.svc.tmp`);
  const file = await open(temporary, 'wx', (found?.mode ?? 0o600) & 0o777);
  const gathered = gather(file);
  const discard = async (): Promise<void> => {
    await file.close().catch(() => {});
    await rm(temporary, { force: true });
  };
  return {
    ...gathered,
    finish: async () => {
      try {
        await gathered.flush();
        await file.sync();
        await file.close();
        await rename(temporary, target);
      } catch (error) {
        await discard();
        throw error;
      }
    },
    discard,
  };
}

/** A file that others may read while it grows; it begins empty. @throws as node:fs does. */
export async function growingFile(path: string): Promise<GrowingFile> {
  const file = await open(path, 'w', 0o600);
  const gathered = gather(file);
  const finish = async (): Promise<void> => {
    await gathered.flush();
    await file.close();
  };
  return { ...gathered, finish, discard: finish };
}

function gather(file: FileHandle): Pick<GrowingFile, 'write' | 'flush'> {
  let texts: string[] = [];
  let length = 0;
  const flush = async (): Promise<void> => {
    const text = texts.join('');
    texts = [];
    length = 0;
    if (text !== '') await file.writeFile(text);
  };
  return {
    flush,
    write: async (text) => {
      texts.push(text);
      length += text.length;
      if (length >= gatheredMax) await flush();
    },
  };
}
