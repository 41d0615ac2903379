import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { ApiError } from '../../../client/errors.ts';
import type { WireRun, WireRunPause } from '../../../domain/wire/run.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icons.tsx';
import { Card, Page } from '../../components/page.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { count, dollars, plural } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { go, href } from '../../router.ts';
import { may } from '../../session.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { sumText } from '../cost/report.ts';
import { ChangeLimits, isOpen, RunActions } from './actions.tsx';
import { Answers } from './answers.tsx';
import { BatchCard } from './batchCard.tsx';
import { Failures } from './failures.tsx';
import { isOverBudget, partsOf, Rate, RunBadge, RunBar, TimeLeft } from './runCells.tsx';
import { useRun } from './useRun.ts';
import { RunWaiting } from './waiting.tsx';

/** One run: how far it is, what it costs, what failed. */
export function Run({ params: { name = '' } }: { params: Record<string, string> }): JSX.Element {
  const { run, error, reload } = useRun(name);
  useShortcut('u', 'Back to the list', () => go(href('/runs')));
  if (run !== null) return <KnownRun run={run} reload={reload} />;
  const isGone = error instanceof ApiError && error.status === 404;
  return (
    <Page title="Run">
      {isGone ? (
        <Empty icon="search" title="There is no run with this name">
          <p>
            <code>{name}</code>
          </p>
          <a href={href('/runs')}>All runs</a>
        </Empty>
      ) : error === null ? (
        <div class="card">
          <Loading lines={6} label="Loading the run" />
        </div>
      ) : (
        <Failure error={error} retry={reload} />
      )}
    </Page>
  );
}

function KnownRun({ run, reload }: { run: WireRun; reload(): void }): JSX.Element {
  return (
    <Page title={run.name} beside={<RunBadge run={run} />} actions={<RunActions run={run} reload={reload} />}>
      {run.paused === null ? null : <Paused paused={run.paused} />}
      <JobsCard run={run} />
      <div class="two-columns">
        <div class="job-column">
          <Failures run={run} reload={reload} />
          <Answers run={run} />
        </div>
        <div class="job-column">
          <Limits run={run} reload={reload} />
          {run.batch === undefined ? null : <BatchCard batch={run.batch} />}
          <Origin run={run} />
        </div>
      </div>
    </Page>
  );
}

const pauseTitles: Record<WireRunPause['reason'], string> = {
  max_cost: 'Paused: its budget is used up',
  max_failures: 'Paused: too many of its jobs failed',
  deadline: 'Paused: its deadline has passed',
  operator: 'Paused',
};

/** Why it is paused, and what to do. */
function Paused({ paused }: { paused: WireRunPause }): JSX.Element {
  return (
    <section class="notice tone-warn" aria-label="Why it is paused">
      <Icon name="paused" />
      <div>
        <p class="notice-title">{pauseTitles[paused.reason]}</p>
        <p>
          <span dir="auto">{paused.detail}.</span> Running jobs continue. Paused <Time at={paused.at} />.
        </p>
      </div>
    </section>
  );
}

/** The jobs by status, each a link to its list. */
function JobsCard({ run }: { run: WireRun }): JSX.Element {
  const { name, counts, status } = run;
  return (
    <Card
      title="Progress"
      beside={<a href={href('/jobs', { run: name })}>{plural(counts.total, 'job')}</a>}
      class="run-jobs"
    >
      <RunBar run={run} />
      <ul class="run-parts">
        {partsOf(run)
          .filter(({ status: part, jobs }) => jobs > 0 || part !== 'cancelled')
          .map(({ status: part, label, tone, jobs }) => (
            <li key={part} class={`tone-${tone}`}>
              <span class={part === 'pending' ? 'run-mark hollow' : 'run-mark'} aria-hidden="true" />
              <a href={href('/jobs', { run: name, status: part })}>
                <strong class="number">{count(jobs)}</strong> {label}
              </a>
            </li>
          ))}
      </ul>
      <dl class="facts run-pace">
        <div>
          <dt>Rate</dt>
          <dd>
            <Rate run={run} />
          </dd>
        </div>
        <div>
          <dt>Time left</dt>
          <dd>
            <TimeLeft run={run} />
          </dd>
        </div>
        <div>
          <dt>Tokens in, out</dt>
          <dd class="number">
            {count(run.input_tokens)}, {count(run.output_tokens)}
          </dd>
        </div>
      </dl>
      {status === 'running' && counts.pending > 0 ? <RunWaiting run={run} /> : null}
    </Card>
  );
}

/** What it has cost and may cost, and its other limits. */
function Limits({ run, reload }: { run: WireRun; reload(): void }): JSX.Element {
  const isChanging = useSignal(false);
  const { counts, max_failures: most, deadline } = run;
  return (
    <Card
      title="Cost and limits"
      beside={
        may('client') && isOpen(run) ? (
          <Button
            kind="quiet"
            onClick={() => {
              isChanging.value = true;
            }}
          >
            Change limits
          </Button>
        ) : null
      }
    >
      <dl class="detail-list">
        <Spending run={run} />
        <dt>Failed jobs</dt>
        <dd>{most === null ? 'no limit' : `${count(counts.failed)}, limit ${count(most)}`}</dd>
        <dt>Deadline</dt>
        <dd>
          <Time at={deadline} none="none" />
        </dd>
      </dl>
      {isChanging.value ? (
        <ChangeLimits run={run} reload={reload} onClose={() => (isChanging.value = false)} />
      ) : null}
    </Card>
  );
}

function Spending({ run }: { run: WireRun }): JSX.Element {
  const { cost_reserved_usd: aside, cost_expected_usd: expected, unknown_cost_attempts: unknown } = run;
  return (
    <>
      <dt>Cost so far</dt>
      <dd>
        <strong>{sumText(run.cost_usd, unknown)}</strong>
        {unknown === 0 ? null : (
          <span class="faint"> the cost of {plural(unknown, 'attempt')} is unknown</span>
        )}
      </dd>
      <dt title="Estimates of running attempts, and of those whose cost is unknown">Set aside</dt>
      <dd>{dollars(aside)}</dd>
      {isOpen(run) ? (
        <>
          <dt>Expected in all</dt>
          <dd class={isOverBudget(run) ? 'run-over' : undefined}>
            {expected === null ? '–' : dollars(expected)}
            {isOverBudget(run) ? ', more than its budget' : ''}
          </dd>
        </>
      ) : null}
      <dt>Budget</dt>
      <dd>{run.max_cost_usd === null ? 'no limit' : dollars(run.max_cost_usd)}</dd>
    </>
  );
}

/** Who started it, when, and with what its jobs are sent. */
function Origin({ run }: { run: WireRun }): JSX.Element {
  const { created_by: by, defaults, output_schema: schema, output_retries: retries } = run;
  return (
    <Card title="Details">
      <dl class="detail-list">
        <dt>Created</dt>
        <dd>
          <Time at={run.created_at} />
        </dd>
        <dt>Sent by</dt>
        <dd dir="auto">{by === null ? '–' : (by.name ?? by.key_id)}</dd>
        {run.finished_at === null ? null : (
          <>
            <dt>Ended</dt>
            <dd>
              <Time at={run.finished_at} />
            </dd>
          </>
        )}
        {schema === null ? null : (
          <>
            <dt>Wrong answers</dt>
            <dd>{retries ? `asked for again, at most ${plural(retries, 'time')}` : 'fail the job'}</dd>
          </>
        )}
      </dl>
      {Object.keys(defaults).length === 0 ? null : <Json title="Defaults of its jobs" value={defaults} />}
      {schema === null ? null : <Json title="Schema of its answers" value={schema} />}
    </Card>
  );
}

/** JSON on a click. */
function Json({ title, value }: { title: string; value: unknown }): JSX.Element {
  return (
    <details class="params">
      <summary>{title}</summary>
      <pre class="text-block wrapped">{JSON.stringify(value, null, 2)}</pre>
    </details>
  );
}
