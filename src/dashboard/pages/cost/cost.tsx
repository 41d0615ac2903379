import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { breakdowns, periodNames } from '../../../domain/costReport.ts';
import type { WireCostBreakdown, WireCostSummary } from '../../../domain/wire/cost.ts';
import { Button } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { EditedInput } from '../../components/editedInput.tsx';
import { Card, Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { saveFile } from '../../components/saveFile.ts';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { count, dollars, plural } from '../../components/text.ts';
import { now } from '../../live/clock.ts';
import { useStats } from '../../live/store.ts';
import { href, place, setQuery } from '../../router.ts';
import { api } from '../../session.ts';
import { Breakdown } from './breakdown.tsx';
import {
  askFor,
  change,
  csvOf,
  isByHour,
  linesOf,
  type ReportQuery,
  readReportQuery,
  sumText,
  today,
} from './report.ts';

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** A report is reloaded after attempts ended, at most this often, ms: its figures are sums, and not in events. */
const againMs = 10_000;

const periodLabels = { day: 'Today', week: 'This week', month: 'This month', custom: 'Days' } as const;
const previousLabels = {
  day: 'yesterday',
  week: 'last week',
  month: 'last month',
  custom: 'as many days before',
} as const;

/** How much was spent, when, and on what. */
export function Cost(): JSX.Element {
  const asked = readReportQuery(place.value.query, ownZone);
  const { loaded, reload } = useLoaded(JSON.stringify(asked), async () => {
    const period = askFor(asked);
    const [summary, breakdown] = await Promise.all([
      api.peek().costSummary(period),
      api.peek().costBreakdown({ ...period, by: asked.by }),
    ]);
    return { summary, breakdown };
  });
  useReading(reload);
  const { data, error } = loaded.value;
  const lines = data === null ? [] : linesOf(data.breakdown);
  return (
    <Page
      title="Cost"
      actions={
        <Button
          icon="download"
          disabled={lines.length === 0}
          onClick={() => saveFile([csvOf(lines, asked.by)], 'text/csv', `cost-by-${asked.by}.csv`)}
        >
          CSV
        </Button>
      }
    >
      <PeriodBar asked={asked} />
      {data === null ? (
        error === null ? (
          <div class="card">
            <Loading lines={9} label="Loading the cost" />
          </div>
        ) : (
          <Failure error={error} retry={reload} />
        )
      ) : (
        <Report asked={asked} {...data} />
      )}
    </Page>
  );
}

/** Reload when jobs have ended. */
function useReading(reload: () => void): void {
  const stats = useStats();
  const { completed = 0, failed = 0, cancelled = 0 } = stats.value?.jobs.by_status ?? {};
  const ended = stats.value === null ? null : completed + failed + cancelled;
  const seen = useSignal<{ ended: number; at: number } | null>(null);
  useEffect(() => {
    if (ended === null) return;
    const last = seen.peek();
    const at = now.peek();
    if (last !== null && (last.ended === ended || at - last.at < againMs)) return;
    seen.value = { ended, at };
    if (last !== null) reload();
  }, [ended, stats.value, seen, reload]);
}

// Over 60 lines: its markup stays in one piece.
function PeriodBar({ asked }: { asked: ReportQuery }): JSX.Element {
  const { period, zone, by } = asked;
  const tz = zone === ownZone ? null : zone;
  const isCustom = period === 'custom';
  const date = today(now.peek(), isZone(zone) ? zone : 'UTC');
  const change = (edges: { from?: string; to?: string }): void => {
    const next = { from: asked.from || date, to: asked.to || date, ...edges };
    if (next.from === '' || next.to === '') return;
    if (next.from > next.to) {
      if (edges.from === undefined) next.from = next.to;
      else next.to = next.from;
    }
    setQuery({ period: null, ...next });
  };
  return (
    <div class="period-bar">
      <nav class="tabs" aria-label="Period">
        {periodNames.map((name) => (
          <a
            key={name}
            href={href('/cost', { period: name, tz, by })}
            aria-current={name === period ? 'page' : undefined}
          >
            {periodLabels[name]}
          </a>
        ))}
        <a
          href={href('/cost', { from: asked.from || date, to: asked.to || date, tz, by })}
          aria-current={isCustom ? 'page' : undefined}
        >
          {periodLabels.custom}
        </a>
      </nav>
      {isCustom ? (
        <span class="period-days">
          <label>
            From{' '}
            <EditedInput
              class="input"
              type="date"
              value={asked.from}
              onChange={({ currentTarget }) => change({ from: currentTarget.value })}
            />
          </label>
          <label>
            to{' '}
            <EditedInput
              class="input"
              type="date"
              value={asked.to}
              onChange={({ currentTarget }) => change({ to: currentTarget.value })}
            />
          </label>
        </span>
      ) : null}
      <label class="period-zone">
        Time zone{' '}
        <EditedInput
          class="input"
          type="text"
          list="time-zones"
          value={zone}
          onChange={({ currentTarget }) => setQuery({ tz: currentTarget.value.trim() || null })}
        />
        <datalist id="time-zones">
          {Intl.supportedValuesOf('timeZone').map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
    </div>
  );
}

function isZone(zone: string): boolean {
  try {
    return Intl.DateTimeFormat(undefined, { timeZone: zone }) !== null;
  } catch {
    return false;
  }
}

function Report(props: {
  asked: ReportQuery;
  summary: WireCostSummary;
  breakdown: WireCostBreakdown;
}): JSX.Element {
  const { asked, summary, breakdown } = props;
  return (
    <>
      <Totals summary={summary} />
      {summary.attempts === 0 ? (
        <div class="card">
          <Empty icon="cost" title="Nothing ended in this time">
            <p>An attempt counts when it ends.</p>
          </Empty>
        </div>
      ) : (
        <>
          <Course summary={summary} isByHour={isByHour(asked)} />
          <Card
            title="What it was spent on"
            beside={
              <nav class="tabs inline" aria-label="Broken down by">
                {breakdowns.map((name) => (
                  <a
                    key={name}
                    href={href('/cost', { ...Object.fromEntries(place.value.query), by: name })}
                    aria-current={name === asked.by ? 'page' : undefined}
                  >
                    {name}
                  </a>
                ))}
              </nav>
            }
          >
            <Breakdown lines={linesOf(breakdown)} by={asked.by} />
          </Card>
        </>
      )}
    </>
  );
}

function Totals({ summary }: { summary: WireCostSummary }): JSX.Element {
  const { previous, unknown_cost_attempts: unknown } = summary;
  const compared = change(summary);
  return (
    <dl class="card facts cost-facts">
      <div class="wide-fact">
        <dt>Cost</dt>
        <dd class="cost-total">{sumText(summary.total_cost_usd, unknown)}</dd>
        <dd class="hint">
          {previousLabels[summary.period]}: {sumText(previous.total_cost_usd, previous.unknown_cost_attempts)}
          {compared === null
            ? ''
            : `, ${compared.percent < 0 ? '−' : '+'}${Math.abs(Math.round(compared.percent))} %`}
        </dd>
        {unknown === 0 ? null : <dd class="hint">the cost of {plural(unknown, 'attempt')} is unknown</dd>}
      </div>
      <div>
        <dt>Jobs</dt>
        <dd class="number">{count(summary.jobs)}</dd>
        <dd class="hint number">before: {count(previous.jobs)}</dd>
      </div>
      <div>
        <dt>Attempts</dt>
        <dd class="number">{count(summary.attempts)}</dd>
        <dd class="hint number">before: {count(previous.attempts)}</dd>
      </div>
      <div>
        <dt>Tokens in</dt>
        <dd class="number">{count(summary.input_tokens)}</dd>
        <dd class="hint number">{count(summary.cached_input_tokens)} cached</dd>
      </div>
      <div>
        <dt>Tokens out</dt>
        <dd class="number">{count(summary.output_tokens)}</dd>
        <dd class="hint number">{count(summary.reasoning_tokens)} reasoning</dd>
      </div>
    </dl>
  );
}

/** The costs over time as a chart and as a table. */
function Course({ summary, isByHour }: { summary: WireCostSummary; isByHour: boolean }): JSX.Element {
  const { series, timezone } = summary;
  const form = new Intl.DateTimeFormat(undefined, {
    timeZone: timezone,
    ...(isByHour
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { month: 'short', day: 'numeric', weekday: 'short' }),
  });
  const axis = new Intl.DateTimeFormat(undefined, {
    timeZone: timezone,
    ...(isByHour
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { month: 'short', day: 'numeric' }),
  });
  const known = series.map((part) =>
    part.cost_usd === 0 && part.unknown_cost_attempts > 0 ? null : part.cost_usd,
  );
  return (
    <Chart
      title={isByHour ? 'Hour by hour' : 'Day by day'}
      times={series.map(({ from }) => Date.parse(from) / 1000)}
      series={[{ label: 'Known cost', tone: 'active', values: known }]}
      format={dollars}
      group="cost"
      barSeconds={isByHour ? 3_600 : 86_400}
      formatTime={(seconds) => axis.format(seconds * 1000)}
    >
      <details class="course-table">
        <summary>The same as a table</summary>
        <div class="table-place">
          <table class="table">
            <caption class="visually-hidden">Cost by {isByHour ? 'hour' : 'day'}</caption>
            <thead>
              <tr>
                <th>{isByHour ? 'From' : 'Day'}</th>
                <th class="end">Cost</th>
                <th class="end">Jobs</th>
              </tr>
            </thead>
            <tbody>
              {series.map((part) => (
                <tr key={part.from}>
                  <td>
                    <time dateTime={part.from}>{form.format(Date.parse(part.from))}</time>
                  </td>
                  <td class="end">{sumText(part.cost_usd, part.unknown_cost_attempts)}</td>
                  <td class="end">{count(part.jobs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </Chart>
  );
}
