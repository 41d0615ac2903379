import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type RunStatus, runStatuses } from '../../../domain/states.ts';
import type { WireRun } from '../../../domain/wire/run.ts';
import { statusLabel } from '../../components/badge.tsx';
import { Page } from '../../components/page.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { TableHead } from '../../components/tableHead.tsx';
import { count } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { href, place } from '../../router.ts';
import { may } from '../../session.ts';
import { openRowsIn } from '../jobs/rowClicks.ts';
import { Progress, Rate, RunBadge, RunCost, TimeLeft } from './runCells.tsx';
import { useRuns } from './useRuns.ts';

const pageSize = 50;

/** All runs, newest first. The status and the page are in the address. */
export function Runs(): JSX.Element {
  const { query } = place.value;
  const asked = runStatuses.find((status) => status === query.get('status')) ?? null;
  const number = Math.max(1, Math.floor(Number(query.get('page') ?? 1)) || 1);
  const { runs, total, error, reload } = useRuns({
    status: asked ?? undefined,
    limit: pageSize,
    offset: (number - 1) * pageSize,
  });
  const isNone = runs?.length === 0 && total === 0 && asked === null;
  return (
    <Page title="Runs" beside={runs === null ? null : <span class="faint">{count(total)}</span>}>
      {isNone ? null : <StatusTabs asked={asked} />}
      {error === null ? null : <Failure error={error} retry={reload} />}
      {runs === null && error !== null ? null : (
        <div class="card">
          {runs === null ? (
            <Loading lines={6} label="Loading the runs" />
          ) : isNone ? (
            <NoRuns />
          ) : runs.length === 0 ? (
            <Empty icon="runs" title={total === 0 ? 'No run has this status' : 'This page is empty'}>
              <a href={href('/runs')}>All runs</a>
            </Empty>
          ) : (
            <RunTable runs={runs} />
          )}
        </div>
      )}
      <Pages number={number} total={total} status={asked} />
    </Page>
  );
}

function NoRuns(): JSX.Element {
  return (
    <Empty icon="runs" title="No runs yet">
      <p>A run is a file of prompts with a name: its progress, its budget and its answers in one place.</p>
      {may('client') ? (
        <p>
          Start one with <code>svc run --file prompts.csv --run NAME</code>.
        </p>
      ) : (
        <p>Runs of others appear here; your key cannot start any.</p>
      )}
    </Empty>
  );
}

function StatusTabs({ asked }: { asked: RunStatus | null }): JSX.Element {
  return (
    <nav class="tabs" aria-label="Runs by status">
      <a href={href('/runs')} aria-current={asked === null ? 'page' : undefined}>
        All
      </a>
      {runStatuses.map((status) => (
        <a key={status} href={href('/runs', { status })} aria-current={status === asked ? 'page' : undefined}>
          {statusLabel(status)}
        </a>
      ))}
    </nav>
  );
}

/** Links to the pages before and after; nothing while there is one page. */
function Pages(props: { number: number; total: number; status: RunStatus | null }): JSX.Element | null {
  const { number, total, status } = props;
  const last = Math.ceil(total / pageSize);
  if (last <= 1) return null;
  const to = (page: number): string => href('/runs', { status, page: page === 1 ? null : String(page) });
  return (
    <nav class="run-pages" aria-label="Pages of the list">
      {number > 1 ? (
        <a class="button" href={to(Math.min(number - 1, last))}>
          Newer
        </a>
      ) : null}
      <span class="faint">
        Page {count(number)} of {count(last)}
      </span>
      {number < last ? (
        <a class="button" href={to(number + 1)}>
          Older
        </a>
      ) : null}
    </nav>
  );
}

const columns = [
  { title: 'Run' },
  { title: 'Status' },
  { title: 'Progress' },
  { title: 'Time left' },
  { title: 'Cost' },
  { title: 'Created' },
];

function RunTable({ runs }: { runs: readonly WireRun[] }): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => (body.current === null ? undefined : openRowsIn(body.current)), []);
  return (
    <table class="table stacked run-table">
      <TableHead caption="Runs" columns={columns} />
      <tbody ref={body}>
        {runs.map((run) => (
          <tr key={run.id}>
            <td class="main-cell">
              <a href={href(`/runs/${run.name}`)}>{run.name}</a>
              {run.batch === undefined ? null : <span class="tag">batch</span>}
            </td>
            <td data-label="Status">
              <RunBadge run={run} />
            </td>
            <td data-label="Progress">
              <Progress run={run} />
            </td>
            <td data-label="Time left">
              <span class="run-two">
                <TimeLeft run={run} />
                {run.status === 'running' && run.rate_per_minute > 0 ? <Rate run={run} /> : null}
              </span>
            </td>
            <td data-label="Cost">
              <RunCost run={run} />
            </td>
            <td data-label="Created">
              <span class="run-two">
                <Time at={run.created_at} />
                {run.created_by === null ? null : (
                  <span dir="auto">by {run.created_by.name ?? run.created_by.key_id}</span>
                )}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
