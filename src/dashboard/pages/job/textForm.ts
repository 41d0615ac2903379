/** The form of a text that a page can display better than plain. */
export type TextForm = { kind: 'plain' } | { kind: 'json'; pretty: string } | { kind: 'markdown' };

/** Longer JSON is shown unchanged, characters; so is JSON whose indented form is longer than twice that. */
const jsonMax = 1_000_000;
/** Deeper levels are not indented further: a text of only brackets would become megabytes of spaces. */
const indentMax = 40;
/** The part of a text searched for signs of Markdown, characters. */
const lookedAtMax = 20_000;

const signs = [
  // A heading, list item, quotation, fence or table at the start of a line.
  /^ {0,3}(?:#{1,6} \S|[-*+] \S|\d{1,9}[.)] \S|> ?\S|```|~~~|\|.*\|)/m,
  /\*\*[^\s*]/,
  /`[^`\n]{1,200}`/,
  /\[[^[\]\n]{1,200}\]\([^)\s]/,
];

/** @returns `plain` when another form would not help. */
export function formOf(text: string): TextForm {
  const pretty = prettyJson(text);
  if (pretty !== null) return { kind: 'json', pretty };
  const beginning = text.slice(0, lookedAtMax);
  return { kind: signs.some((sign) => sign.test(beginning)) ? 'markdown' : 'plain' };
}

/**
 * An object or a list in JSON, indented. Only the white space between tokens changes: a number of 20 digits, which
 * `JSON.parse` would round, is kept. @returns null for anything else.
 */
export function prettyJson(text: string): string | null {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed) || trimmed.length > jsonMax || !isJson(trimmed)) return null;
  const parts: string[] = [];
  let length = 0;
  let depth = 0;
  const add = (part: string): void => {
    parts.push(part);
    length += part.length;
  };
  const newLine = (): void => add(`\n${'  '.repeat(Math.min(depth, indentMax))}`);
  for (const [token] of trimmed.matchAll(tokens)) {
    if (length > 2 * jsonMax) return null;
    const isEnd = token === '}' || token === ']';
    if (isEnd) depth -= 1;
    const last = parts.at(-1);
    if (last === '{' || last === '[') {
      if (!isEnd) newLine();
    } else if (isEnd || last === ',') newLine();
    add(token === ':' ? ': ' : token);
    if (token === '{' || token === '[') depth += 1;
  }
  return parts.join('');
}

/** A text, a bracket or a sign, or a number or word. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
