import { plainLine } from './plainText.ts';
import { cutToWidth, textWidth } from './textWidth.ts';

export interface Column<Row> {
  header: string;
  /** May return anything; it is made safe and put on one line. */
  value: (row: Row) => string;
  align?: 'left' | 'right';
  /** Columns to which it may be narrowed when the table is too wide; absent: never. */
  shrinkTo?: number;
  /** Colours the finished cell; must not change its width. */
  paint?: (text: string, row: Row) => string;
}

export interface TableStyle {
  /** Columns of the terminal; Infinity where there is none, and nothing is cut. */
  width: number;
  paintHeader?: (text: string) => string;
}

const gap = '  ';

/** An aligned table, one string a line, the header first. Every line fits into `width`. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  style: TableStyle,
): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => plainLine(value(row))));
  const natural = columns.map(({ header }, index) => {
    return Math.max(textWidth(header), ...cells.map((line) => textWidth(line[index] ?? '')));
  });
  const widths = shrink(columns, natural, style.width);
  const header = columns.map((column, index) => pad(column, column.header, widths[index] ?? 0));
  const paintHeader = style.paintHeader ?? ((text) => text);
  return [
    paintHeader(cutToWidth(header.join(gap).trimEnd(), style.width)),
    ...rows.map((row, line) => {
      const texts = columns.map((column, index) =>
        pad(column, cells[line]?.[index] ?? '', widths[index] ?? 0),
      );
      return join(columns, texts, row, style.width);
    }),
  ];
}

/** Narrow the columns that may be narrowed, the widest first, until the table fits or none can shrink further. */
function shrink<Row>(columns: readonly Column<Row>[], natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, one) => sum + one, 0) + gap.length * (columns.length - 1) - width;
  while (excess > 0 && Number.isFinite(excess)) {
    let widest = -1;
    for (const [index, { shrinkTo, header }] of columns.entries()) {
      const least = Math.max(shrinkTo ?? Number.POSITIVE_INFINITY, textWidth(header));
      const canGive = (widths[index] ?? 0) > least;
      if (canGive && (widest < 0 || (widths[index] ?? 0) > (widths[widest] ?? 0))) widest = index;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess--;
  }
  return widths;
}

function pad<Row>({ align }: Column<Row>, text: string, width: number): string {
  const cell = cutToWidth(text, width);
  const space = ' '.repeat(Math.max(0, width - textWidth(cell)));
  return align === 'right' ? space + cell : cell + space;
}

/** Paint only after cutting: an escape sequence cut in half would colour the rest of the screen. */
function join<Row>(
  columns: readonly Column<Row>[],
  texts: readonly string[],
  row: Row,
  width: number,
): string {
  let line = '';
  let left = width;
  for (const [index, column] of columns.entries()) {
    const before = index === 0 ? '' : gap;
    const isLast = index === columns.length - 1;
    const cell = isLast ? (texts[index] ?? '').trimEnd() : (texts[index] ?? '');
    if (left <= before.length) break;
    const room = left - before.length;
    const cut = textWidth(cell) <= room ? cell : cutToWidth(cell.trimEnd(), room);
    line += before + (column.paint?.(cut, row) ?? cut);
    left -= before.length + textWidth(cell);
  }
  return line.trimEnd();
}
