import type { JSX } from 'preact';

/** The head of a column; for screen readers only where sighted readers need no words. */
export interface Column {
  title: string;
  /** Numbers are aligned at the end. */
  isEnd?: boolean;
  isHidden?: boolean;
  /** Hidden where there is little room; its cells have the class `spare` too. */
  isSpare?: boolean;
}

/** The name of a table, for screen readers, and the heads of its columns. */
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
