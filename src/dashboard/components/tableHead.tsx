import type { JSX } from 'preact';

/** What stands over a column; only for those who listen where the column needs no words. */
export interface Column {
  title: string;
  /** Figures stand at the end. */
  isEnd?: boolean;
  isHidden?: boolean;
  /** Left out where there is little room; its cells have the class `spare` too. */
  isSpare?: boolean;
}

/** The name of a table, for those who listen, and the heads of its columns. */
export function TableHead({
  caption,
  columns,
}: {
  caption: string;
  columns: readonly Column[];
}): JSX.Element {
  return (
    <>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, isEnd, isHidden, isSpare }) => (
            <th key={title} class={`${isEnd ? 'end' : ''} ${isSpare ? 'spare' : ''}`}>
              {isHidden ? <span class="visually-hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}
