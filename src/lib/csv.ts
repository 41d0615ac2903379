/** What a cell may hold; null is an empty one. */
export type Cell = string | number | null;

/**
 * A row of CSV as RFC 4180 has it. A text that a spreadsheet would take for a formula gets an apostrophe before it:
 * prompts come from strangers, and a formula can send what stands beside it (OWASP, CSV injection).
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

/**
 * What begins a formula: one of the signs, also in its full width (a spreadsheet takes `＝` for `=` in Asian locales), and
 * behind blanks, line breaks and characters that nobody sees, which an import may strip. A tab begins one by itself.
 */
const formula = /^(?:\t|\r|[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠])/u;
const special = /[",\r\n]/;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = formula.test(cell) ? `'${cell}` : cell;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
