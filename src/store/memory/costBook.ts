/* The months of cost for reports. Owns which ones stay in memory; older ones are only in the log. It is filled by the
   log and by the ledger of each change. */

import type { CostBucket, CostDimension } from '../../domain/cost.ts';
import { CostMonth, type CostSink, monthOf } from '../changes/costMonth.ts';
import type { LedgerEntry } from '../store.ts';

/** Months that stay in memory whatever the clock says. */
const newestKept = 3;

/**
 * The buckets in memory: those of this month and the two before it (UTC). Any calendar month up to now and the one
 * before it are within, in every time zone. Older ones are only in their files, where the checkpoint counts late
 * entries. The newest three always stay: a clock that was years ahead and is corrected must find them.
 */
export class CostBook implements CostSink {
  readonly #now: () => number;
  readonly #months = new Map<string, CostMonth>();
  #oldest = '';
  /** The month for which `#oldest` was looked up, epoch ms. */
  #from = 0;
  #until = 0;

  /** @param now epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a month (`2026-11`) is kept in memory. */
  keeps(month: string): boolean {
    if (month >= this.#oldestMonth() || this.#months.has(month)) return true;
    return [...this.#months.keys()].filter((held) => held > month).length < newestKept;
  }

  /** Add a month of the checkpoint. */
  load(month: CostMonth): void {
    this.#months.set(month.month, month);
  }

  add(entry: LedgerEntry): void {
    const name = monthOf(entry.at);
    if (!this.keeps(name)) return;
    let month = this.#months.get(name);
    if (month === undefined) {
      month = new CostMonth(name);
      this.#months.set(name, month);
      this.#forgetOld();
    }
    month.add(entry);
  }

  buckets(from: number, to: number, dimension: CostDimension): CostBucket[] {
    const found: CostBucket[] = [];
    const last = monthOf(to);
    const first = monthOf(from);
    for (const [name, month] of this.#months) {
      if (name < first || name > last) continue;
      month.collect(found, from, to, dimension);
    }
    return found;
  }

  #forgetOld(): void {
    const beyond = [...this.#months.keys()].sort().slice(0, -newestKept);
    for (const name of beyond) if (name < this.#oldest) this.#months.delete(name);
  }

  /** Computed once a month; older months are then dropped. */
  #oldestMonth(): string {
    const now = this.#now();
    if (now < this.#from || now >= this.#until) {
      const at = new Date(now);
      const begin = (months: number): number => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1);
      this.#oldest = monthOf(begin(-2));
      this.#from = begin(0);
      this.#until = begin(1);
      this.#forgetOld();
    }
    return this.#oldest;
  }
}
