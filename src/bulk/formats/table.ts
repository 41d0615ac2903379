import { pipeline } from 'node:stream/promises';
import { FileFault } from '../fault.ts';
import type { Format, LineFault, Opened, RawJob, ReadOptions } from '../format.ts';
import { itemBytesMax, type Sample, type Source } from '../source.ts';
import { columnOf, compileTemplate, listing, type Template } from '../template.ts';

/** Used when neither `--prompt-column` nor `--template` is given. */
const promptColumn = 'prompt';
const separators = [',', ';', '\t', '|'] as const;
/** Lines of a file without a telling name that must look like rows. */
const rowsLooked = 20;
/** A name of a column: no sentence begins like it. */
const columnName = /^"?[\p{L}_][\p{L}\p{N}_.-]*(?: [\p{L}\p{N}_.-]+){0,3}"?$/u;

/** Comma-separated values (RFC 4180), also with semicolons, as spreadsheets of many countries write them. */
export const csv: Format = {
  name: 'csv',
  description: 'a table with a header; needs --prompt-column or --template unless it has a column prompt',
  extensions: ['csv'],
  isTable: true,
  fits: (sample) => sample.extension === 'csv' || (!isNamed(sample) && looksLikeTable(sample, [',', ';'])),
  open: (source, options) => open(source, options, separatorOf(headLine(source.sample.text))),
};

/** Tab-separated values. */
export const tsv: Format = {
  name: 'tsv',
  description: 'the same with tabs',
  extensions: ['tsv', 'tab'],
  isTable: true,
  fits: (sample) =>
    ['tsv', 'tab'].includes(sample.extension) || (!isNamed(sample) && looksLikeTable(sample, ['\t'])),
  open: (source, options) => open(source, options, '\t'),
};

/** Whether the name of the file says that it is something else. */
function isNamed({ extension }: Sample): boolean {
  return ['json', 'jsonl', 'ndjson'].includes(extension);
}

/** A header of names, and rows with as many separators. */
function looksLikeTable({ text, isWhole }: Sample, among: readonly string[]): boolean {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (!isWhole) lines.pop();
  const [head = '', ...rows] = lines.slice(0, rowsLooked);
  if (rows.length === 0) return false;
  return among.some((separator) => {
    const names = head.split(separator);
    return (
      names.length > 1 &&
      new Set(names).size === names.length &&
      names.every((name) => columnName.test(name)) &&
      rows.every((row) => row.startsWith('"') || countOutside(row, separator) === names.length - 1)
    );
  });
}

function headLine(text: string): string {
  return /^[^\r\n]*/.exec(text.trimStart())?.[0] ?? '';
}

/** The separator of a header: the one that it has most of. */
function separatorOf(head: string): string {
  const counts = separators.map((separator) => countOutside(head, separator));
  return separators[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** How often a separator occurs outside of quotes. */
function countOutside(line: string, separator: string): number {
  return line.replaceAll(/"[^"]*"/g, '').split(separator).length - 1;
}

interface Row {
  line: number;
  cells: string[];
}

async function open(source: Source, options: ReadOptions, separator: string): Promise<Opened> {
  if (options.prompt !== undefined)
    throw new FileFault(
      'a table has its prompts in --prompt-column or --template: write the prompt into the template, such as --template "Summarise {{body}}"',
    );
  const rows = rowsOf(source, separator);
  const first = await rows.next();
  await rows.return(undefined);
  if (first.done) throw new FileFault(`${source.name} contains no jobs`);
  const header = first.value.cells.map((name) => name.trim());
  const repeated = header.find((name, index) => header.indexOf(name) !== index);
  if (repeated !== undefined)
    throw new FileFault(`${source.name}:1: the header has the column ${JSON.stringify(repeated)} twice`);
  const prompt = promptOf(source.name, options, header);
  const id = options.idColumn === undefined ? null : columnOf('--id-column', options.idColumn, header);
  return { header, read: () => jobsOf(rowsOf(source, separator), header, prompt, id) };
}

function promptOf(file: string, { promptColumn: named, template }: ReadOptions, header: string[]): Template {
  if (template !== undefined && named !== undefined)
    throw new FileFault('--prompt-column and --template cannot be used together');
  if (template !== undefined) return compileTemplate(template, header);
  if (named === undefined && !header.includes(promptColumn))
    throw new FileFault(
      `${file} is a table: say with --prompt-column which column is the prompt, or make one with --template "Summarise {{${header[0] ?? 'title'}}}". ${listing(header)}. --format text takes its lines as they are`,
    );
  const place = columnOf('--prompt-column', named ?? promptColumn, header);
  return (cells) => cells[place] ?? '';
}

async function* jobsOf(
  rows: AsyncGenerator<Row>,
  header: readonly string[],
  promptFor: Template,
  id: number | null,
): AsyncGenerator<RawJob | LineFault> {
  let isHeader = true;
  for await (const { line, cells } of rows) {
    if (isHeader) {
      isHeader = false;
      continue;
    }
    if (cells.length !== header.length) {
      const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`;
      yield { line, fault: `has ${count} and the header has ${header.length}` };
      continue;
    }
    const prompt = promptFor(cells);
    const ownId = id === null ? null : (cells[id] ?? '');
    if (ownId === '') yield { line, fault: `has nothing in the column ${header[id ?? 0]}, which is its id` };
    else if (prompt.trim() === '') yield { line, fault: 'has an empty prompt' };
    else yield { line, ownId, body: { prompt }, cells };
  }
}

/** The rows, the header first, without empty ones. @throws FileFault when quotes do not match. */
async function* rowsOf(source: Source, delimiter: string): AsyncGenerator<Row> {
  const { CsvError, parse } = await import('csv-parse');
  const parser = parse({
    delimiter,
    // The coordinator decides what is too long; this bounds the memory when a quote is never closed.
    max_record_size: itemBytesMax,
    relax_column_count: true,
    skip_empty_lines: true,
    info: true,
  });
  // Its failure is also the parser's, which is read below.
  pipeline(source.pieces(), parser).catch(() => {});
  let counted = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      // `lines` is where the row ends, and the parser counts a CRLF in quotes twice.
      const returns = countIn(record, '\r');
      yield { line: info.lines - counted - returns - countIn(record, '\n'), cells: record };
      counted += returns;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : null;
    throw new FileFault(`${source.name}${line === null ? '' : `:${line}`}: ${reasonOf(error.code)}`);
  } finally {
    parser.destroy();
  }
}

function countIn(cells: readonly string[], character: string): number {
  let count = 0;
  for (const cell of cells) if (cell.includes(character)) count += cell.split(character).length - 1;
  return count;
}

function reasonOf(code: string): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quote is opened and never closed';
  if (code === 'CSV_MAX_RECORD_SIZE')
    return `a row is longer than ${itemBytesMax} bytes; is a quote not closed?`;
  return 'has a quote in the wrong place; a quote inside of a cell is written twice, in a cell in quotes';
}
