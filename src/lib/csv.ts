/** The content of a cell; null is an empty one. */
export type Cell = string | number | null;

/**
 * A row of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe in front: prompts come
 * from strangers, and a formula can send the cells beside it elsewhere (OWASP, CSV injection).
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

/**
 * What begins a formula: one of the signs, also in full width (a spreadsheet takes `＝` for `=` in Asian locales), also
 * after blanks, line breaks and invisible characters, which an import may strip. A tab alone begins one too.
 */
const formula = /^(?:\t|\r|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;
const special = /[",\r\n]/;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = formula.test(cell) ? `'${cell}` : cell;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
