import type { Clock } from '../../domain/clock.ts';
import type { StatsHistory, StatsPoint, StatsRange } from '../../domain/stats.ts';
import type { JobCounts } from '../../store/store.ts';
import type { Activity, Totals } from './activity.ts';

/** The finest step, seconds; the others are multiples of it. */
const tickSeconds = 10;

/** One range of time in steps of one length, the oldest first. */
interface Line {
  readonly stepSeconds: number;
  readonly pointsMax: number;
  readonly points: StatsPoint[];
  /** At the end of its last step. */
  before: Totals;
}

/**
 * What has happened in the last hour, day and week, in steps of 10 s, 1 min and 10 min: what a chart shows of the time when
 * nobody looked. Kept in memory, some 800 KB when all is full, so it begins with the start of the coordinator.
 */
export class Course {
  readonly #clock: Clock;
  readonly #activity: Activity;
  readonly #counts: () => Promise<JobCounts>;
  readonly #lines: Record<StatsRange, Line>;
  #ticks = 0;
  #stop = (): void => {};

  constructor(options: { clock: Clock; activity: Activity; counts: () => Promise<JobCounts> }) {
    this.#clock = options.clock;
    this.#activity = options.activity;
    this.#counts = options.counts;
    const line = (stepSeconds: number, pointsMax: number): Line => {
      return { stepSeconds, pointsMax, points: [], before: options.activity.totals() };
    };
    this.#lines = { hour: line(tickSeconds, 360), day: line(60, 1_440), week: line(600, 1_008) };
  }

  start(): void {
    this.#stop = this.#clock.after(tickSeconds * 1000, () => {
      this.start();
      this.#ticks += 1;
      // A step that cannot be published is part of the next one.
      this.#take(this.#ticks).catch(() => {});
    });
  }

  close(): void {
    this.#stop();
  }

  /** @param after epoch ms; only steps that ended later. */
  read(range: StatsRange, after: number | null): StatsHistory {
    const { stepSeconds, points } = this.#lines[range];
    return { stepSeconds, points: points.filter(({ at }) => after === null || at > after) };
  }

  async #take(tick: number): Promise<void> {
    const due = Object.values(this.#lines).filter(
      ({ stepSeconds }) => (tick * tickSeconds) % stepSeconds === 0,
    );
    const at = this.#clock.now();
    const totals = this.#activity.totals();
    const { byStatus } = await this.#counts();
    const now = { at, pending: byStatus.pending, running: byStatus.running, ...this.#activity.spreads() };
    for (const line of due) {
      const { input, output, ...throughput } = difference(totals, line.before);
      line.before = totals;
      const tokensPerSecond = { input: input / line.stepSeconds, output: output / line.stepSeconds };
      line.points.push({ ...now, throughput, tokensPerSecond });
      if (line.points.length > line.pointsMax) line.points.shift();
    }
  }
}

function difference(totals: Totals, before: Totals): Totals {
  const names = Object.keys(totals) as (keyof Totals)[];
  return Object.fromEntries(names.map((name) => [name, totals[name] - before[name]])) as Totals;
}
