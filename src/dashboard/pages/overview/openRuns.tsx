import type { JSX } from 'preact';
import type { WireLiveRun } from '../../../domain/wire/run.ts';
import { Card } from '../../components/page.tsx';
import { count } from '../../components/text.ts';
import { href } from '../../router.ts';
import { Progress, RunBadge, TimeLeft } from '../runs/runCells.tsx';

/** Runs shown here; the list has all. */
const shownMax = 5;

/** The running runs and then the paused ones, newest first, without those that have no jobs; nothing when there are none. */
export function OpenRuns({ runs }: { runs: readonly WireLiveRun[] }): JSX.Element | null {
  const withJobs = runs.filter(({ counts }) => counts.total > 0);
  if (withJobs.length === 0) return null;
  const shown = withJobs
    .toSorted((a, b) => Number(a.status === 'paused') - Number(b.status === 'paused') || newest(a, b))
    .slice(0, shownMax);
  const more = withJobs.length - shown.length;
  return (
    <Card title="Runs" beside={<a href={href('/runs')}>{more === 0 ? 'All' : `${count(more)} more`}</a>}>
      <ul class="run-list">
        {shown.map((run) => (
          <li key={run.id}>
            <a href={href(`/runs/${run.name}`)} title={run.name}>
              {run.name}
            </a>
            <Progress run={run} />
            {run.status === 'paused' ? <RunBadge run={run} /> : <LeftOf run={run} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function LeftOf({ run }: { run: WireLiveRun }): JSX.Element {
  return (
    <span class="faint">
      <TimeLeft run={run} />
      {run.eta === null ? '' : ' left'}
    </span>
  );
}

function newest(a: WireLiveRun, b: WireLiveRun): number {
  return a.created_at < b.created_at ? 1 : -1;
}
