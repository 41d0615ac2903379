import { nearest } from '../lib/nearest.ts';
import { FileFault } from './fault.ts';

/** Makes a prompt of the cells of a row. */
export type Template = (cells: readonly string[]) => string;

const placeholder = /\{\{\s*(.*?)\s*\}\}/gs;

/**
 * Read a template such as `Summarise {{title}}: {{body}}`.
 * @throws FileFault when it names a column that the table does not have, or none at all.
 */
export function compileTemplate(template: string, header: readonly string[]): Template {
  const texts: string[] = [];
  const columns: number[] = [];
  let from = 0;
  for (const match of template.matchAll(placeholder)) {
    const [all, name = ''] = match;
    texts.push(template.slice(from, match.index));
    columns.push(columnOf('--template', name, header));
    from = match.index + all.length;
  }
  if (columns.length === 0)
    throw new FileFault(
      `--template names no column, so that every prompt would be the same; ${listing(header)}`,
    );
  const end = template.slice(from);
  return (cells) => texts.map((text, index) => text + (cells[columns[index] ?? -1] ?? '')).join('') + end;
}

/** The place of a column. @param option where its name comes from. @throws FileFault when there is none. */
export function columnOf(option: string, name: string, header: readonly string[]): number {
  const place = header.indexOf(name);
  if (place >= 0) return place;
  const near = nearest(name, header);
  const hint = near === null ? '' : `; did you mean ${near}?`;
  throw new FileFault(`${option}: there is no column ${JSON.stringify(name)}${hint} ${listing(header)}`);
}

/** The columns of a table, for messages. */
export function listing(header: readonly string[]): string {
  return `The columns are: ${header.join(', ')}`;
}
