import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { messageOf } from '../domain/errors.ts';
import type { Problem } from './problem.ts';

/** A parsed configuration file: its data, and the line of every key. */
export interface ConfigDocument {
  /** `{}` when the file is empty or could not be parsed. */
  data: Record<string, unknown>;
  /** The line of the deepest existing part of `path`, from 1; null for an empty file. */
  lineOf(path: readonly (string | number)[]): number | null;
  /** Why it cannot be parsed; the data must not be used then. */
  problems: Problem[];
}

/**
 * Parse YAML or JSON. JSON is YAML too, so both give lines; but a file named `.json` must be JSON, because other tools
 * will require it.
 * @param name of the file in problems.
 */
export function parseConfigText(written: string, name: string): ConfigDocument {
  // Windows editors start a file with a byte order mark; YAML allows one, JSON.parse does not.
  const text = written.replace(/^\ufeff/, '');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const problem = (line: number | null, message: string): Problem => ({
    source: name,
    line,
    path: '',
    message,
  });

  // A warning is an unknown tag (`!secret`): the author means more than is read.
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) =>
    problem(lineAt(pos[0]), `not valid YAML: ${message}`),
  );
  visit(document, {
    Pair: (_, { key }) => {
      if (!isMap(key) && !isSeq(key)) return;
      problems.push(
        problem(lineAt(key.range?.[0] ?? 0), 'not valid: a key must be a word, not a map or list'),
      );
    },
  });
  const jsonProblem = name.endsWith('.json') ? jsonTrouble(text, problems[0]?.line ?? null, problem) : null;
  if (jsonProblem) return { data: {}, lineOf: () => null, problems: [jsonProblem] };
  if (problems.length > 0) return { data: {}, lineOf: () => null, problems };

  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  if (!isEmpty && !isMap(contents)) {
    return {
      data: {},
      lineOf: () => 1,
      problems: [problem(1, 'must be a map of keys, as in docs/configuration.md')],
    };
  }
  try {
    return {
      data: isEmpty ? {} : toData(document),
      lineOf: (path) => lineOf(document, path, lineAt),
      problems,
    };
  } catch (error) {
    // An alias without an anchor, or one that would expand to millions of nodes.
    return { data: {}, lineOf: () => null, problems: [problem(null, `not valid YAML: ${messageOf(error)}`)] };
  }
}

function toData(document: Document): Record<string, unknown> {
  const data: unknown = document.toJS();
  return typeof data === 'object' && data !== null ? { ...data } : {};
}

function jsonTrouble(
  text: string,
  yamlLine: number | null,
  problem: (line: number | null, message: string) => Problem,
): Problem | null {
  if (text.trim() === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const message = messageOf(error);
    const position = jsonErrorPosition(message, text);
    const line = position === null ? yamlLine : text.slice(0, position).split('\n').length;
    // Without the excerpt: it may contain a key.
    const plain = message
      .replace(/ (?:in JSON )?at position \d+(?: \(line \d+ column \d+\))?$/, '')
      .replace(excerptPattern, '');
    return problem(line, `not valid JSON: ${plain}`);
  }
}

/** The end of V8's messages without an offset: the text around the error, at most 10 characters before it. */
const excerptPattern = /, (\.\.\.)?"([\s\S]*)"(?:\.\.\.)? is not valid JSON$/;
const excerptBefore = 10;

function jsonErrorPosition(message: string, text: string): number | null {
  const offset = /at position (\d+)/.exec(message)?.[1];
  if (offset !== undefined) return Number(offset);
  if (message.includes('end of JSON input')) return text.trimEnd().length;
  const [, isCut, excerpt] = excerptPattern.exec(message) ?? [];
  if (excerpt === undefined) return null;
  const start = text.indexOf(excerpt);
  const token = /Unexpected token '(.)'/su.exec(message)?.[1];
  const inside = isCut === undefined && token !== undefined ? excerpt.indexOf(token) : excerptBefore;
  return start < 0 ? null : start + Math.max(0, inside);
}

function lineOf(
  document: Document,
  path: readonly (string | number)[],
  lineAt: (offset: number) => number,
): number | null {
  let node: unknown = document.contents;
  let offset = document.contents?.range?.[0] ?? null;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (!pair) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      if (isScalar(item) || isMap(item) || isSeq(item) || isAlias(item)) offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return offset === null ? null : lineAt(offset);
}
