import type { JSX } from 'preact';
import { count } from './text.ts';

/** More cells than this in a row are less clear than a number. */
const cellsMax = 24;

/** More cells than this are narrow, to fit on one line. */
const wideCellsMax = 8;

/** The slots of a worker as cells, lit when in use. */
export function Cells({ taken, total }: { taken: number; total: number }): JSX.Element {
  const cells = Math.min(Math.max(total, taken), cellsMax);
  // With more slots than cells, a cell is a share: one is lit as soon as any slot is in use.
  const lit = total <= cellsMax ? taken : Math.ceil((taken / total) * cells);
  return (
    <span class={cells > wideCellsMax ? 'cells narrow' : 'cells'} aria-hidden="true">
      {Array.from({ length: cells }, (_, index) => (
        <span key={index} class={index < lit ? 'cell lit' : 'cell'} />
      ))}
    </span>
  );
}

/** The same with numbers. */
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
