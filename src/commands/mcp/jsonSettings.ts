import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse,
  parseTree,
} from 'jsonc-parser';
import { type Fields, isFields, parseFields } from '../../lib/fields.ts';

/** VS Code and others take a comma after the last member, and comments. */
const options = { allowTrailingComma: true };
/** `SyntaxKind.CommaToken`: the enum of the package is a `const enum`, which has no values at run time. */
const commaToken = 5;

/** The value of a JSON text, which may have comments. Nothing is an empty object. @returns null when it is no object. */
export function readJson(text: string): Fields | null {
  if (text.trim() === '') return {};
  const strict = parseFields(text);
  if (strict !== null) return strict;
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, options);
  return errors.length === 0 && isFields(value) ? value : null;
}

/**
 * The text with another value at `path`; every other character stays as it is.
 * @returns null when there is no object to put it into.
 */
export function setInJson(text: string, path: readonly string[], value: unknown): string | null {
  const source = text.trim() === '' ? '{}\n' : text;
  const root = parseTree(source, [], options);
  if (root === undefined) return null;
  const found = findNodeAtLocation(root, [...path]);
  if (found !== undefined)
    return `${source.slice(0, found.offset)}${JSON.stringify(value)}${source.slice(endOf(found))}`;
  const owner = findNodeAtLocation(root, path.slice(0, -1));
  const name = path.at(-1);
  if (owner?.type !== 'object' || name === undefined) return null;
  return withMember(source, root, owner, (indent) => memberText(name, value, indent));
}

/** @param member its text, by the whitespace in front of it: a line break and an indent, or less. */
function withMember(
  text: string,
  root: Node,
  owner: Node,
  member: (style: { lead: string; unit: string }) => string,
): string {
  const unit = leadOf(text, root)?.replace(/^\r?\n/, '') || '  ';
  const brace = endOf(owner) - 1;
  const last = owner.children?.at(-1);
  const contentEnd = last === undefined ? owner.offset + 1 : endOf(last);
  // Behind a comment that follows the last member: it goes on to belong to that one.
  const at = contentEnd + text.slice(contentEnd, brace).trimEnd().length;
  const lead = leadOf(text, owner);
  if (lead !== null) {
    const comma = hasComma(text, contentEnd) ? '' : ',';
    const between = text.slice(contentEnd, at);
    return `${text.slice(0, contentEnd)}${comma}${between}${lead}${member({ lead, unit })}${text.slice(at)}`;
  }
  const isOnOneLine = leadOf(text, root)?.includes('\n') === false;
  const close = isOnOneLine ? '' : `${text.includes('\r\n') ? '\r\n' : '\n'}${indentAt(text, owner.offset)}`;
  const first = isOnOneLine ? '' : `${close}${unit}`;
  return `${text.slice(0, at)}${first}${member({ lead: first, unit })}${close}${text.slice(brace)}`;
}

function memberText(name: string, value: unknown, { lead, unit }: { lead: string; unit: string }): string {
  const spread = lead.includes('\n')
    ? JSON.stringify(value, null, unit).replaceAll('\n', lead)
    : JSON.stringify(value);
  return `${JSON.stringify(name)}:${lead === '' ? '' : ' '}${spread}`;
}

/** The line break, if any, and the spaces before the first member of an object; null when it has none. */
function leadOf(text: string, { offset, children }: Node): string | null {
  const [first] = children ?? [];
  if (first === undefined) return null;
  return /(\r?\n)?[ \t]*$/.exec(text.slice(offset + 1, first.offset))?.[0] ?? '';
}

/** Of the line that has this place. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';
}

/** Whether a comma is what follows, apart from comments. */
function hasComma(text: string, offset: number): boolean {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return Number(scanner.scan()) === commaToken;
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}
