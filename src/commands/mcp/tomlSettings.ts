import { isDeepStrictEqual } from 'node:util';
import { type AST, getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { type Fields, isFields } from '../../lib/fields.ts';

/** The value of a TOML text. @returns null when it is not valid. */
export function readToml(text: string): Fields | null {
  const program = programOf(text);
  if (program === null) return null;
  const value: unknown = getStaticTOMLValue(program);
  return isFields(value) ? value : null;
}

/**
 * The text with another value at `path`; every other character stays as it is. A value that is not in a table of its own,
 * under `[its.path]`, gets one at the end: where it is written in another form the text is not valid then.
 * @returns null when the text is not valid.
 */
export function setInToml(text: string, path: readonly string[], value: unknown): string | null {
  const program = programOf(text);
  if (program === null) return null;
  if (isFields(value)) return withTable(text, path, value);
  const owner = path.slice(0, -1);
  const name = path.at(-1) ?? '';
  const table = tableAt(program, owner);
  if (table === undefined) return withTable(text, owner, { [name]: value });
  const found = table.body.find(({ key: { keys } }) => keys.length === 1 && nameOf(keys[0]) === name);
  if (found !== undefined) {
    const [start, end] = found.value.range;
    return `${text.slice(0, start)}${valueText(value)}${text.slice(end)}`;
  }
  return withLine(text, table, `${keyText(name)} = ${valueText(value)}`);
}

/** The text of a table and of those in it, with `\n` at the end of each line. */
export function tableText(path: readonly string[], table: Fields): string {
  const entries = Object.entries(table);
  const lines = entries
    .filter(([, value]) => !isFields(value))
    .map(([name, value]) => `${keyText(name)} = ${valueText(value)}\n`);
  const own = lines.length === 0 ? [] : [`[${path.map(keyText).join('.')}]\n${lines.join('')}`];
  const inner = entries.flatMap(([name, value]) =>
    isFields(value) ? [tableText([...path, name], value)] : [],
  );
  return [...own, ...inner].join('\n');
}

function programOf(text: string): AST.TOMLProgram | null {
  try {
    return parseTOML(text, { tomlVersion: '1.1' });
  } catch {
    return null;
  }
}

/** The table `[path]`, however its header is written. */
function tableAt(program: AST.TOMLProgram, path: readonly string[]): AST.TOMLTable | undefined {
  return program.body[0].body.find(
    (node) =>
      node.type === 'TOMLTable' && node.kind === 'standard' && isDeepStrictEqual(node.resolvedKey, path),
  ) as AST.TOMLTable | undefined;
}

/** The text with a line more at the end of a table, before comments that may be of the next one. */
function withLine(text: string, table: AST.TOMLTable, line: string): string {
  const [, end] = (table.body.at(-1) ?? table).range;
  const lineEnd = text.indexOf('\n', end);
  const at = lineEnd === -1 ? text.length : lineEnd + 1;
  const eol = eolOf(text);
  return `${text.slice(0, at)}${lineEnd === -1 ? eol : ''}${line}${eol}${text.slice(at)}`;
}

function withTable(text: string, path: readonly string[], table: Fields): string {
  const eol = eolOf(text);
  const end = text === '' || text.endsWith('\n') ? '' : eol;
  return `${text}${end}${text.trim() === '' ? '' : eol}${tableText(path, table).replaceAll('\n', eol)}`;
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted | undefined): string | undefined {
  return key?.type === 'TOMLBare' ? key.name : key?.value;
}

function keyText(name: string): string {
  return /^[\w-]+$/.test(name) ? name : valueText(name);
}

/** @param value a text, a number, or a list of them. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  // A basic string of TOML takes what a string of JSON takes, except this control character.
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}
