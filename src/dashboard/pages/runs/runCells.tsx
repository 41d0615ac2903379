import type { JSX } from 'preact';
import type { BatchStatus, RunStatus } from '../../../domain/states.ts';
import type { WireLiveRun } from '../../../domain/wire/run.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { compact, count, dollars, plural } from '../../components/text.ts';
import { now } from '../../live/clock.ts';
import { sumText } from '../cost/report.ts';

const hints: Record<RunStatus, string> = {
  running: 'Its jobs run and wait',
  paused: 'None of its waiting jobs starts; running ones continue',
  completed: 'Every job has ended, however it ended',
  cancelled: 'Somebody cancelled it: it takes no more jobs',
};

const batchHints: Partial<Record<BatchStatus, string>> = {
  completed: 'Every line has its end, however it ended',
  failed: 'Its file was refused; nothing ran',
  cancelled: 'Somebody cancelled it',
};

/** The status of a run; that of its file where it is a batch, unless it is paused. */
export function RunBadge({ run }: { run: Pick<WireLiveRun, 'status' | 'batch'> }): JSX.Element {
  const { status, batch } = run;
  if (batch === undefined || (batch.status === 'in_progress' && status === 'paused'))
    return <Badge status={status} hint={hints[status]} />;
  const hint = batchHints[batch.status];
  return <Badge status={batch.status} {...(hint === undefined ? {} : { hint })} />;
}

/** A part of a run's jobs. */
export interface Part {
  /** For lists of jobs. */
  status: 'completed' | 'failed' | 'cancelled' | 'running' | 'pending';
  label: string;
  tone: Tone;
  jobs: number;
}

/** The jobs of a run by status, in the order of the bar. */
export function partsOf({ counts }: Pick<WireLiveRun, 'counts'>): Part[] {
  return [
    { status: 'completed', label: 'completed', tone: 'good', jobs: counts.completed },
    { status: 'failed', label: 'failed', tone: 'bad', jobs: counts.failed },
    { status: 'cancelled', label: 'cancelled', tone: 'neutral', jobs: counts.cancelled },
    { status: 'running', label: 'running', tone: 'active', jobs: counts.running },
    { status: 'pending', label: 'waiting', tone: 'info', jobs: counts.pending },
  ];
}

/** The jobs of a run as a bar; what waits is empty. */
export function RunBar({ run }: { run: Pick<WireLiveRun, 'counts'> }): JSX.Element {
  const parts = partsOf(run);
  const { total } = run.counts;
  const words = parts.filter(({ jobs }) => jobs > 0).map(({ jobs, label }) => `${count(jobs)} ${label}`);
  return (
    <span class="run-bar" role="img" aria-label={words.length === 0 ? 'no jobs' : words.join(', ')}>
      {parts.map(({ status, tone, jobs }) =>
        jobs === 0 || status === 'pending' ? null : (
          <span key={status} class={`tone-${tone}`} style={{ width: `${(jobs / total) * 100}%` }} />
        ),
      )}
    </span>
  );
}

/** The bar with the most important numbers. */
export function Progress({ run }: { run: Pick<WireLiveRun, 'counts'> }): JSX.Element {
  const { total, completed, failed, cancelled } = run.counts;
  return (
    <span class="run-progress">
      <RunBar run={run} />
      <span class="number">
        {total === 0 ? 'no jobs yet' : `${compact(completed + failed + cancelled)} of ${compact(total)}`}
        {failed === 0 ? null : <span class="run-failed">, {compact(failed)} failed</span>}
      </span>
    </span>
  );
}

/** Jobs that ended in the last minute. */
export function Rate({ run }: { run: Pick<WireLiveRun, 'rate_per_minute'> }): JSX.Element {
  const { rate_per_minute: rate } = run;
  if (rate === 0) return <span class="faint">–</span>;
  return <span class="number">{rate < 10 ? rate.toFixed(1) : compact(Math.round(rate))} a minute</span>;
}

/** The time until its last job ends at the present rate. */
export function TimeLeft({ run }: { run: Pick<WireLiveRun, 'eta' | 'status'> }): JSX.Element {
  if (run.eta === null || run.status !== 'running') return <span class="faint">–</span>;
  // Below a second it is noise.
  return <span class="number">{humanDuration(Math.max(1_000, Date.parse(run.eta) - now.value))}</span>;
}

type Costs = Pick<
  WireLiveRun,
  'cost_usd' | 'unknown_cost_attempts' | 'cost_expected_usd' | 'max_cost_usd' | 'status'
>;

/** Whether it will probably cost more than it may. */
export function isOverBudget({ cost_expected_usd: expected, max_cost_usd: most }: Costs): boolean {
  return expected !== null && most !== null && expected > most;
}

/** What it has cost, of what it may, and what it will probably cost. */
export function RunCost({ run }: { run: Costs }): JSX.Element {
  const { cost_usd: cost, unknown_cost_attempts: unknown, cost_expected_usd: expected } = run;
  const isOpen = run.status === 'running' || run.status === 'paused';
  return (
    <span class="run-two">
      <span class="number">
        {sumText(cost, unknown)}
        {run.max_cost_usd === null ? '' : ` of ${dollars(run.max_cost_usd)}`}
      </span>
      {isOpen && expected !== null ? (
        <span class={isOverBudget(run) ? 'run-over' : 'faint'}>{dollars(expected)} expected</span>
      ) : null}
    </span>
  );
}

/** `3 jobs are back in the queue`, and what could not be retried. */
export function retriedText({ retried, archived }: { retried: number; archived: number }): string {
  const back = `${plural(retried, 'job')} ${retried === 1 ? 'is' : 'are'} back in the queue`;
  if (archived === 0) return back;
  return `${back}; ${plural(archived, 'failed job')} cannot be retried, because ${archived === 1 ? 'it is' : 'they are'} archived`;
}
