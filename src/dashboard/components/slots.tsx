import type { JSX } from 'preact';
import { count } from './text.ts';

/** More cells than this in a row say less than a number. */
const cellsMax = 24;

/** More than this are narrow, to stand in one line. */
const wideCellsMax = 8;

/** The slots of a worker as cells, lit while a job has one. */
export function Cells({ taken, total }: { taken: number; total: number }): JSX.Element {
  const cells = Math.min(Math.max(total, taken), cellsMax);
  // Beyond that many the cells are shares: one is lit as soon as a job has any.
  const lit = total <= cellsMax ? taken : Math.ceil((taken / total) * cells);
  return (
    <span class={cells > wideCellsMax ? 'cells narrow' : 'cells'} aria-hidden="true">
      {Array.from({ length: cells }, (_, index) => (
        <span key={index} class={index < lit ? 'cell lit' : 'cell'} />
      ))}
    </span>
  );
}

/** The same with the figures. */
export function Slots({ taken, total }: { taken: number; total: number }): JSX.Element {
  return (
    <span class="slot-cells">
      <Cells taken={taken} total={total} />
      <span class="number faint">
        {count(taken)} of {count(total)}
      </span>
    </span>
  );
}
