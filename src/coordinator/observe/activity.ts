import type { Clock } from '../../domain/clock.ts';
import { lastAttempt } from '../../domain/job.ts';
import type { Spread, Stats, Throughput } from '../../domain/stats.ts';
import { SlidingQuantiles } from '../../lib/slidingQuantiles.ts';
import { SlidingSums } from '../../lib/slidingSums.ts';
import type { Committed } from '../core/index.ts';
import { statusEventType } from '../core/index.ts';

const windowMs = 300_000;
const windowSlices = 30;
const outcomes = ['created', 'started', 'requeued', 'completed', 'failed', 'cancelled'] as const;
const sumsSeconds = 900;
const tokensSeconds = 60;

export type Totals = Record<keyof Throughput | 'input' | 'output', number>;

const noThroughput: Throughput = {
  created: 0,
  started: 0,
  requeued: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
};

/** What has happened lately: counted as changes become durable, 0.5 µs a change, in fixed memory. */
export class Activity {
  readonly #clock: Clock;
  readonly #sums = new SlidingSums([...outcomes, 'input', 'output'], sumsSeconds);
  readonly #waits = new SlidingQuantiles(windowMs, windowSlices);
  readonly #runs = new SlidingQuantiles(windowMs, windowSlices);

  /** Since the start. */
  readonly #totals: Totals = { ...noThroughput, input: 0, output: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts since the start: a difference of two is what happened between them, to the job. */
  totals(): Totals {
    return { ...this.#totals };
  }

  /** A change has been committed. */
  follow({ before, after, event, ledger }: Committed): void {
    const now = this.#clock.monotonic();
    const type = statusEventType(before, after);
    if (type !== null) this.#count(now, type.slice('job.'.length) as keyof Throughput, 1);
    const { life } = after;
    const attempt = lastAttempt(life);
    if (event?.type === 'job.assigned' && attempt?.number === 1) {
      this.#waits.add(now, Math.max(0, attempt.startedAt - life.enqueuedAt));
    }
    if (event?.type === 'job.completed' && attempt?.finishedAt != null) {
      this.#runs.add(now, Math.max(0, attempt.finishedAt - attempt.startedAt));
    }
    for (const { amounts } of ledger) {
      this.#count(now, 'input', amounts.inputTokens);
      this.#count(now, 'output', amounts.outputTokens);
    }
  }

  #count(now: number, name: keyof Totals, amount: number): void {
    this.#sums.add(now, name, amount);
    this.#totals[name] += amount;
  }

  /** How long jobs wait and run, of the last five minutes. */
  spreads(): Pick<Stats, 'wait' | 'run'> {
    const now = this.#clock.monotonic();
    return { wait: spread(this.#waits, now), run: spread(this.#runs, now) };
  }

  read(): Pick<Stats, 'throughput' | 'wait' | 'run' | 'tokensPerSecond'> {
    const now = this.#clock.monotonic();
    const throughput = (seconds: number): Throughput => {
      const { input: _input, output: _output, ...counts } = this.#sums.sums(now, seconds);
      return counts;
    };
    const { input, output } = this.#sums.sums(now, tokensSeconds);
    return {
      throughput: { last1m: throughput(60), last5m: throughput(300), last15m: throughput(sumsSeconds) },
      ...this.spreads(),
      tokensPerSecond: { input: input / tokensSeconds, output: output / tokensSeconds },
    };
  }
}

function spread(quantiles: SlidingQuantiles, now: number): Spread {
  const { count, values } = quantiles.read(now, [0.5, 0.95]);
  return { count, p50: values[0] ?? null, p95: values[1] ?? null };
}
