import { relativeTime } from '../lib/humanTime.ts';
import type { Screen } from '../lib/screen.ts';
import { type Column, tableLines } from '../lib/table.ts';
import { textWidth } from '../lib/textWidth.ts';

/** A table in the style of every command: as wide as the screen, its header bold. */
export function sheetTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  screen: Screen,
): string[] {
  return tableLines(columns, rows, {
    width: screen.width,
    paintHeader: (text) => screen.paint('bold', text),
  });
}

/** How long ago, or how soon, a time of the API is; `-` for none. @param now epoch ms. */
export function whenText(iso: string | null, now: number): string {
  return iso === null ? '-' : relativeTime(Date.parse(iso), now);
}

/** One fact a line, the names bold and aligned. */
export function factLines(
  facts: readonly (readonly [name: string, value: string])[],
  screen: Screen,
): string[] {
  const width = Math.max(...facts.map(([name]) => textWidth(name)));
  return facts.map(([name, value]) => `${screen.paint('bold', name.padEnd(width))}  ${value}`);
}
