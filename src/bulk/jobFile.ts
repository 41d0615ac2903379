import { hash } from 'node:crypto';
import { lineIdMax } from '../domain/run.ts';
import type { DispatchBody } from '../domain/wire/job.ts';
import { canonicalJson } from '../lib/canonicalJson.ts';
import { IdTable } from '../lib/idTable.ts';
import { Faults, FileFault } from './fault.ts';
import type { Format, LineFault, RawJob, ReadOptions } from './format.ts';
import { formatOf } from './formats/index.ts';
import type { Source } from './source.ts';

/** Digits of the hash in the id of a line without one. */
const hashDigits = 12;

/** One job of a file. */
export interface FileJob {
  /** Where it begins in the file, from 1. */
  line: number;
  /** Its id in the run: its own, or made of its number and content. */
  id: string;
  /** Its own id; null where it has none. */
  ownId: string | null;
  body: DispatchBody;
  /** The cells of a table, in the order of its header. */
  cells: readonly string[];
}

/** A file whose lines are jobs. It can be read more than once. */
export interface JobFile {
  source: Source;
  format: Format;
  /** The columns of a table; none for other files. */
  header: readonly string[];
  /** Its jobs, with the faults among them. */
  items(): AsyncGenerator<FileJob | LineFault>;
  /** Its jobs. @throws FileFault at the first fault. */
  jobs(): AsyncGenerator<FileJob>;
}

/** @throws FileFault when the options do not fit it. */
export async function openJobFile(
  source: Source,
  formatName: string | undefined,
  options: ReadOptions,
): Promise<JobFile> {
  const format = formatOf(source.sample, formatName);
  const { header, read } = await format.open(source, options);
  async function* items(): AsyncGenerator<FileJob | LineFault> {
    let number = 0;
    for await (const raw of read()) {
      number += 1;
      yield 'fault' in raw ? raw : withId(raw, number);
    }
  }
  async function* jobs(): AsyncGenerator<FileJob> {
    for await (const item of items()) {
      if ('fault' in item) throw new FileFault(faultText(source, item));
      yield item;
    }
  }
  return { source, format, header, items, jobs };
}

/** How a fault is shown: `prompts.csv:3: has an empty prompt`. */
export function faultText({ name }: Pick<Source, 'name'>, { line, fault }: LineFault): string {
  return `${name}:${line}: ${fault}`;
}

/**
 * Read the whole file and find its faults.
 * @returns how many jobs it has. @throws FileFault with the first faults and the number of the others.
 */
export async function checkJobFile(file: JobFile, signal: AbortSignal): Promise<number> {
  const faults = new Faults();
  let count = 0;
  try {
    for await (const item of withoutRepeats(file.items())) {
      signal.throwIfAborted();
      if ('fault' in item) faults.add(faultText(file.source, item));
      else count += 1;
    }
  } catch (error) {
    // What ends the reading is the last fault.
    if (!(error instanceof FileFault)) throw error;
    faults.add(error.message);
  }
  faults.throwIfAny();
  if (count === 0) throw new FileFault(`${file.source.name} contains no jobs`);
  return count;
}

/** The same items, with a fault for each job whose id an earlier one has. */
export async function* withoutRepeats(
  items: AsyncIterable<FileJob | LineFault>,
): AsyncGenerator<FileJob | LineFault> {
  const table = new IdTable();
  for await (const item of items) {
    if ('fault' in item || item.ownId === null) {
      yield item;
      continue;
    }
    const before = table.add(item.ownId, item.line);
    if (before === null) yield item;
    else yield { line: item.line, fault: `has the id ${JSON.stringify(item.ownId)}, as line ${before} has` };
  }
}

function withId({ line, ownId, body, cells }: RawJob, number: number): FileJob | LineFault {
  if (ownId === '') return { line, fault: 'has an empty id' };
  if (ownId !== null && ownId.length > lineIdMax)
    return { line, fault: `has an id with more than ${lineIdMax} characters` };
  const id = ownId ?? `${number}-${hash('sha256', canonicalJson(body)).slice(0, hashDigits)}`;
  return { line, id, ownId, body, cells };
}
