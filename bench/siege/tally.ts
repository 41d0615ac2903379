/** How often each attack ended in each way: attack → outcome → count. */
export type Tallies = Record<string, Record<string, number>>;

const outcomesMax = 40;

/** Counts the outcomes of attacks. */
export class Tally {
  readonly counts: Tallies = {};

  /** @param outcome a status with its code, a close code or the code of a network error: few different texts. */
  count(attack: string, outcome: string): void {
    this.counts[attack] ??= {};
    const outcomes = this.counts[attack];
    const isKnown = outcome in outcomes || Object.keys(outcomes).length < outcomesMax;
    const key = isKnown ? outcome : 'other';
    outcomes[key] = (outcomes[key] ?? 0) + 1;
  }
}

/** One line for each attack, the most frequent outcome first. */
export function tallyLines(actor: string, tallies: Tallies): string[] {
  return Object.entries(tallies).map(([attack, outcomes]) => {
    const parts = Object.entries(outcomes)
      .sort(([, a], [, b]) => b - a)
      .map(([outcome, count]) => `${outcome}: ${count.toLocaleString('en')}`);
    return `${actor.padEnd(9)}${attack.padEnd(34)}${parts.join('; ')}`;
  });
}
