import { batchFaultsMax, batchLinesMax, type LineFault } from '../../domain/batch.ts';
import { lineIdMax } from '../../domain/run.ts';
import { IdTable } from '../../lib/idTable.ts';
import { ownTurn } from '../../lib/nextTurn.ts';
import { type TextLine, textLines } from '../../lib/textLines.ts';
import type { FileShelf } from '../files/index.ts';
import { type BatchFormat, BatchLineFault } from './batchFormat.ts';
import type { BatchRun } from './batchRun.ts';

/** Lines that are read between two turns of the event loop: some 5 ms. All that read lines share the turns. */
const perTurn = 50;

/**
 * The lines of the input file of a batch, in their order.
 * @param range.lineBytesMax while the file is checked. After that each line counts, whatever bound holds by now.
 * @param range.from where a line begins; `end` of the lines counts from there.
 * @throws CoordinatorError file_not_found; the error of the disk.
 */
export async function* inputLines(
  files: FileShelf,
  { batch }: BatchRun,
  { from = 0, lineBytesMax = Number.POSITIVE_INFINITY }: { from?: number; lineBytesMax?: number } = {},
): AsyncGenerator<TextLine> {
  let count = 0;
  for await (const lines of textLines(files.read(batch.request.inputFileId, from), lineBytesMax)) {
    for (const line of lines) {
      count += 1;
      if (count % perTurn === 0) await ownTurn();
      yield line;
    }
  }
}

/** What reading the whole file has shown. */
export interface Checked {
  lines: number;
  faults: LineFault[];
}

/**
 * Check every line of the file of a batch.
 * @param isWanted asked between lines: reading ends early when it is false.
 * @returns null when it ended early. @throws what `inputLines` throws.
 */
export async function checkFile(
  files: FileShelf,
  run: BatchRun,
  format: BatchFormat,
  lineBytesMax: number,
  isWanted: () => boolean,
): Promise<Checked | null> {
  const faults: LineFault[] = [];
  const ids = new IdTable();
  let lines = 0;
  for await (const line of inputLines(files, run, { lineBytesMax })) {
    if (!isWanted()) return null;
    lines += 1;
    if (lines > batchLinesMax) {
      const message = `The file has more than ${batchLinesMax} requests; send them as several batches`;
      faults.push({ line: null, code: 'too_many_tasks', message, param: null });
      break;
    }
    const fault = await faultOf(line, run, format, ids);
    if (fault !== null) faults.push(fault);
    if (faults.length === batchFaultsMax) break;
  }
  if (lines === 0) {
    const message = 'The file has no requests';
    faults.push({ line: null, code: 'empty_file', message, param: null });
  }
  return { lines, faults };
}

async function faultOf(
  { number: line, text, fault }: TextLine,
  { batch }: BatchRun,
  format: BatchFormat,
  ids: IdTable,
): Promise<LineFault | null> {
  if (fault !== null) return { line, ...unreadable[fault] };
  try {
    const { lineId } = await format.parse(text, batch.request);
    if (lineId === '' || lineId.length > lineIdMax) {
      const message = `The custom_id must have 1 to ${lineIdMax} characters`;
      return { line, code: 'invalid_custom_id', message, param: 'custom_id' };
    }
    const first = ids.add(lineId, line);
    if (first === null) return null;
    const message = `Line ${first} has the same custom_id`;
    return { line, code: 'duplicate_custom_id', message, param: 'custom_id' };
  } catch (error) {
    if (error instanceof BatchLineFault) return { line, ...error.fault };
    throw error;
  }
}

const unreadable = {
  too_long: {
    code: 'line_too_long',
    message: 'The line is longer than a request may be (http.max_body_bytes)',
    param: null,
  },
  not_utf8: { code: 'invalid_json_line', message: 'The line is not UTF-8', param: null },
} as const;
