import type { DispatchBody } from '../../domain/wire/job.ts';
import { isFields } from '../../lib/fields.ts';
import type { LineFault, RawJob, ReadOptions } from '../format.ts';

/** The field with a line's own id unless `--id-column` names another. */
const idField = 'custom_id';
/** Both are not parts of a job: the id of the line goes with it in another way. */
const own = ['prompt', 'messages'] as const;

/** The job of a JSON value: a text, or an object with the fields of the API and perhaps an id. */
export function jobOf(line: number, value: unknown, options: ReadOptions): RawJob | LineFault {
  if (typeof value === 'string') return textJob(line, value, options);
  if (!isFields(value)) return { line, fault: 'is neither a text nor an object' };
  const { [options.idColumn ?? idField]: id, ...fields } = value;
  const ownId = idOf(id);
  if (typeof ownId === 'object' && ownId !== null) return { line, ...ownId };
  if (ownId === null && options.idColumn !== undefined)
    return { line, fault: `has no ${options.idColumn}, which --id-column names` };
  const isWhole = own.some((name) => fields[name] !== undefined && fields[name] !== null);
  if (isWhole || options.prompt !== undefined) {
    // The coordinator validates the fields and names every invalid one.
    const body = (isWhole ? fields : { ...fields, prompt: options.prompt }) as DispatchBody;
    return { line, ownId, body, cells: [] };
  }
  const isBatch = isFields(fields.body) && typeof fields.url === 'string';
  const hint = isBatch ? '; --format openai reads batch files of OpenAI' : '';
  return { line, fault: `has neither prompt nor messages${hint}` };
}

/** The job of a line of text: the prompt, or what the prompt of the command is about. */
export function textJob(line: number, text: string, { prompt }: ReadOptions): RawJob {
  const body = prompt === undefined ? { prompt: text } : { prompt, input: text };
  return { line, ownId: null, body, cells: [] };
}

/** A line's own id as text; null for none. */
export function idOf(value: unknown): string | null | { fault: string } {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  return { fault: 'has an id that is neither a text nor a number' };
}

/** @returns undefined when it is not JSON: the parser's message quotes the text, which may be a prompt. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
