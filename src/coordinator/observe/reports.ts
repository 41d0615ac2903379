import type { BreakdownName, CostBreakdown, CostSpan, CostSummary } from '../../domain/costReport.ts';
import type { MachineCounts } from '../../domain/machine.ts';
import type { Stats } from '../../domain/stats.ts';
import { costBreakdown, costSummary } from './costs.ts';
import { countMachines } from './machineCounts.ts';
import { type StatsParts, takeStats } from './stats.ts';

/** Figures about everything, taken when they are asked for. None of them costs more with more jobs. */
export class Reports {
  readonly #parts: StatsParts;

  constructor(parts: StatsParts) {
    this.#parts = parts;
  }

  /** Everything in figures: some 50 µs. */
  stats(): Promise<Stats> {
    return takeStats(this.#parts);
  }

  /** What was spent in the running calendar period of a zone (IANA name). */
  costSummary(span: CostSpan, zone: string): Promise<CostSummary> {
    return costSummary(this.#parts, span, zone);
  }

  /** The same by provider, model, worker, tag or tier. */
  costBreakdown(by: BreakdownName, span: CostSpan, zone: string): Promise<CostBreakdown> {
    return costBreakdown(this.#parts, by, span, zone);
  }

  /** How many actors of each machine are in each state; a provider that has met no job yet counts as available. */
  machineCounts(): Promise<MachineCounts> {
    return countMachines(this.#parts);
  }
}
