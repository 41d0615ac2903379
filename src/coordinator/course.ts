import type { Clock } from '../domain/clock.ts';
import type { StatsPoint } from '../domain/stats.ts';
import type { JobCounts } from '../store/store.ts';
import type { Activity, Totals } from './activity.ts';

/** A step of the course. */
export const stepSeconds = 10;
/** An hour; some 100 KB. */
const pointsMax = 360;

/** The last hour in steps of ten seconds: what a chart shows that was not looked at all the time. Kept in memory. */
export class Course {
  readonly #clock: Clock;
  readonly #activity: Activity;
  readonly #counts: () => Promise<JobCounts>;
  readonly #points: StatsPoint[] = [];
  #before: Totals;
  #stop = (): void => {};

  constructor(options: { clock: Clock; activity: Activity; counts: () => Promise<JobCounts> }) {
    this.#clock = options.clock;
    this.#activity = options.activity;
    this.#counts = options.counts;
    this.#before = options.activity.totals();
  }

  start(): void {
    this.#stop = this.#clock.after(stepSeconds * 1000, () => {
      this.start();
      // A step that cannot be told is left out.
      this.#take().catch(() => {});
    });
  }

  close(): void {
    this.#stop();
  }

  /** The oldest first. @param after epoch ms; only later ones. */
  points(after: number | null): StatsPoint[] {
    return this.#points.filter(({ at }) => after === null || at > after);
  }

  async #take(): Promise<void> {
    const at = this.#clock.now();
    const totals = this.#activity.totals();
    const before = this.#before;
    this.#before = totals;
    const { byStatus } = await this.#counts();
    const { input, output, ...throughput } = difference(totals, before);
    this.#points.push({
      at,
      throughput,
      pending: byStatus.pending,
      running: byStatus.running,
      ...this.#activity.spreads(),
      tokensPerSecond: { input: input / stepSeconds, output: output / stepSeconds },
    });
    if (this.#points.length > pointsMax) this.#points.shift();
  }
}

function difference(totals: Totals, before: Totals): Totals {
  const names = Object.keys(totals) as (keyof Totals)[];
  return Object.fromEntries(names.map((name) => [name, totals[name] - before[name]])) as Totals;
}
