import { open, rename, rm, stat } from 'node:fs/promises';

/**
 * Replace or create a file atomically: a reader sees the old text or the new one, also after a crash. Keeps its mode.
 * @throws as node:fs does; the old file is unchanged then.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
