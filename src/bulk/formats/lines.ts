import type { Format, LineFault, Opened, RawJob, ReadOptions } from '../format.ts';
import type { Sample, Source } from '../source.ts';
import { jobOf, parseJson, textJob } from './jobBody.ts';
import { refuseTableOptions } from './tableOptions.ts';

type ReadLine = (line: number, text: string, options: ReadOptions) => RawJob | LineFault;

/** Every line that is not blank, by itself. */
async function* read(
  source: Source,
  options: ReadOptions,
  readLine: ReadLine,
): AsyncGenerator<RawJob | LineFault> {
  for await (const batch of source.lines()) {
    for (const { line, text } of batch) {
      const trimmed = text.trim();
      if (trimmed !== '') yield readLine(line, trimmed, options);
    }
  }
}

const opener = (name: string, readLine: ReadLine): Format['open'] => {
  return async (source, options): Promise<Opened> => {
    refuseTableOptions(name, options);
    return { header: [], read: () => read(source, options, readLine) };
  };
};

const jsonLine: ReadLine = (line, text, options) => {
  const value = parseJson(text);
  return value === undefined ? { line, fault: 'is not valid JSON' } : jobOf(line, value, options);
};

/** `{"prompt": "…"}` on each line. */
export const ndjson: Format = {
  name: 'ndjson',
  description: 'a JSON object with the fields of the API on each line, and custom_id',
  extensions: ['ndjson', 'jsonl'],
  isTable: false,
  fits: ({ extension, text }) => ['ndjson', 'jsonl'].includes(extension) || isJsonLine(text),
  open: opener('ndjson', jsonLine),
};

function isJsonLine(text: string): boolean {
  const value = parseJson(firstLine({ text }));
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first line that is not blank. */
export function firstLine({ text }: Pick<Sample, 'text'>): string {
  return /^.*\S.*$/m.exec(text)?.[0].trim() ?? '';
}

/** Every line as it is, also when it begins like JSON. Only by `--format text`. */
export const plainText: Format = {
  name: 'text',
  description: 'a prompt on each line',
  extensions: [],
  isTable: false,
  fits: () => false,
  open: opener('text', textJob),
};

/** What is not recognised: lines of text, and among them lines of JSON. */
export const mixedLines: Format = {
  name: 'lines',
  description: 'a prompt on each line; a line that begins with { or " is JSON (the default)',
  extensions: ['txt'],
  isTable: false,
  fits: () => true,
  open: opener('lines', (line, text, options) => {
    if (!/^[{"]/.test(text)) return textJob(line, text, options);
    const value = parseJson(text);
    const hint = 'begins like JSON but is not valid JSON; --format text takes each line as it is';
    return value === undefined ? { line, fault: hint } : jobOf(line, value, options);
  }),
};
