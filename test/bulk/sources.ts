import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { LineFault, ReadOptions } from '../../src/bulk/format.ts';
import { type FileJob, type JobFile, openJobFile } from '../../src/bulk/jobFile.ts';
import { openSource, type Source } from '../../src/bulk/source.ts';
import { temporaryFolder } from '../support/folder.ts';

const noInput = (async function* () {})();

/** A file of the test's own, opened. */
export async function sourceWith(
  t: ExecutionContext,
  name: string,
  content: string | Buffer,
): Promise<Source> {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, name), content);
  return openSource(name, { cwd, stdin: noInput });
}

/** The same as a file of jobs. */
export async function jobFileWith(
  t: ExecutionContext,
  name: string,
  content: string | Buffer,
  { format, ...options }: ReadOptions & { format?: string } = {},
): Promise<JobFile> {
  return openJobFile(await sourceWith(t, name, content), format, options);
}

/** All that a file has. */
export async function itemsOf(file: JobFile): Promise<(FileJob | LineFault)[]> {
  const items: (FileJob | LineFault)[] = [];
  for await (const item of file.items()) items.push(item);
  return items;
}

/** The prompts of a file without faults, or what is wrong with a line. */
export async function promptsOf(file: JobFile): Promise<(string | undefined)[]> {
  return (await itemsOf(file)).map((item) =>
    'fault' in item ? `${item.line}: ${item.fault}` : item.body.prompt,
  );
}
