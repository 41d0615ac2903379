import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { WireCostSummary } from '../../../domain/wire/cost.ts';
import type { WireProvider } from '../../../domain/wire/provider.ts';
import type { WireLiveRun } from '../../../domain/wire/run.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { Badge } from '../../components/badge.tsx';
import { Icon } from '../../components/icons.tsx';
import { Card, Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Cells } from '../../components/slots.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { compact, count, dollars, plural } from '../../components/text.ts';
import { now } from '../../live/clock.ts';
import { useOpenRuns, useProviders, useStats, useWorkers } from '../../live/store.ts';
import { href } from '../../router.ts';
import { api } from '../../session.ts';
import { QueueSwitch } from '../../shell/queueSwitch.tsx';
import { attentionOf } from './attention.ts';
import { Charts } from './charts.tsx';
import { OpenRuns } from './openRuns.tsx';

const costEveryMs = 30_000;

/** The coordinator's current state, its last hour, day or week, and what needs attention. */
export function Overview(): JSX.Element {
  const stats = useStats();
  const runs = [...(useOpenRuns().value?.values() ?? [])];
  if (stats.value === null) {
    return (
      <Page title="Overview">
        <Loading lines={8} label="Loading figures" />
      </Page>
    );
  }
  return (
    <Page title="Overview" actions={<QueueSwitch />}>
      <Tiles stats={stats.value} />
      <AttentionList stats={stats.value} runs={runs} />
      <OpenRuns runs={runs} />
      <Charts />
      <div class="overview-columns">
        <Slots stats={stats.value} />
        <ProviderList />
      </div>
    </Page>
  );
}

function Tiles({ stats }: { stats: WireStats }): JSX.Element {
  const { jobs, pending, slots, throughput, wait, run, tokens_per_second: tokens } = stats;
  const oldestMs = pending.reduce((oldest, group) => Math.max(oldest, group.oldest_wait_ms), 0);
  const { last_5m: lately } = throughput;
  return (
    <div class="tiles">
      <Tile
        label="Pending"
        value={compact(jobs.by_status.pending)}
        to={href('/jobs', { status: 'pending' })}
        hint={pending.length === 0 ? 'nothing waits' : `oldest waits ${humanDuration(oldestMs)}`}
      />
      <Tile
        label="Running"
        value={compact(jobs.by_status.running)}
        to={href('/jobs', { status: 'running' })}
        hint={`${count(slots.taken)} of ${plural(slots.total, 'slot')} taken`}
      />
      <Tile
        label="Completed, 5 min"
        value={compact(lately.completed)}
        to={href('/jobs', { status: 'completed' })}
        hint={`${compact(jobs.by_status.completed)} in all`}
      />
      <Tile
        label="Failed, 5 min"
        value={compact(lately.failed)}
        to={href('/jobs', { status: 'failed' })}
        hint={`${compact(jobs.by_status.failed)} in all`}
        tone={lately.failed > 0 ? 'bad' : null}
      />
      <Tile label="Wait, median" value={duration(wait.p50_ms)} hint={within(wait.p95_ms)} />
      <Tile label="Run, median" value={duration(run.p50_ms)} hint={within(run.p95_ms)} />
      <Tile label="Tokens a second" value={speed(tokens.output)} hint={`${speed(tokens.input)} read`} />
      <CostTile />
    </div>
  );
}

function Tile(props: {
  label: string;
  value: string;
  hint: string;
  to?: string;
  tone?: 'bad' | null;
}): JSX.Element {
  const { label, value, hint, to, tone = null } = props;
  const inside: ComponentChildren = (
    <>
      <span class="tile-label">{label}</span>
      <span class={tone === null ? 'tile-value number' : `tile-value number tone-${tone}`}>{value}</span>
      <span class="tile-hint">{hint}</span>
    </>
  );
  return to === undefined ? (
    <div class="tile">{inside}</div>
  ) : (
    <a class="tile" href={to}>
      {inside}
    </a>
  );
}

function CostTile(): JSX.Element {
  const tz = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const { loaded, reload } = useLoaded<WireCostSummary>('cost of today', () =>
    api.peek().costSummary({ period: 'day', tz }),
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, costEveryMs);
    return () => clearInterval(timer);
  }, [reload]);
  const { data } = loaded.value;
  if (data === null) return <Tile label="Cost today" value="–" hint="" to={href('/cost')} />;
  const unknown = data.unknown_cost_attempts;
  return (
    <Tile
      label="Cost today"
      value={dollars(data.total_cost_usd)}
      hint={`${dollars(data.previous.total_cost_usd)} yesterday${unknown > 0 ? `, ${count(unknown)} unknown` : ''}`}
      to={href('/cost')}
    />
  );
}

function duration(ms: number | null): string {
  return ms === null ? '–' : humanDuration(ms);
}

function within(ms: number | null): string {
  return ms === null ? 'nothing ran lately' : `95 % within ${humanDuration(ms)}`;
}

function speed(tokens: number): string {
  return tokens > 0 && tokens < 10 ? tokens.toFixed(1) : compact(Math.round(tokens));
}

function AttentionList(props: { stats: WireStats; runs: readonly WireLiveRun[] }): JSX.Element {
  const { stats, runs } = props;
  const workers = useWorkers();
  const providers = useProviders();
  const found = attentionOf(
    stats,
    [...(workers.value?.values() ?? [])],
    [...(providers.value?.values() ?? [])],
    now.value,
    runs,
  );
  // Before the workers are loaded every provider would seem to have none.
  if (workers.value === null) return <Loading lines={1} label="Loading what needs attention" />;
  if (found.length === 0) {
    return (
      <p class="all-well">
        <Icon name="completed" />
        Nothing needs attention.
      </p>
    );
  }
  return (
    <Card title="Needs attention" class="attention-card">
      <ul class="attention">
        {found.map(({ key, tone, text, advice, path, query }) => (
          <li key={key} class={`tone-${tone}`}>
            <Icon name="warning" />
            <span>
              <a href={href(path, query)}>{text}</a>
              <span class="faint"> {advice}</span>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Every slot a cell, lit when in use. */
function Slots({ stats: { slots } }: { stats: WireStats }): JSX.Element {
  return (
    <Card
      title="Worker slots"
      beside={
        <span class="faint number">
          {count(slots.taken)} of {count(slots.total)} taken
        </span>
      }
    >
      {slots.workers.length === 0 ? (
        <Empty icon="workers" title="No worker is connected">
          <a href={href('/connect')}>Connect one</a>
        </Empty>
      ) : (
        <ul class="slots">
          {slots.workers.map(({ id, name, total, taken }) => (
            <li key={id}>
              <a href={href(`/workers/${id}`)}>{name}</a>
              <Cells taken={taken} total={total} />
              <span class="number faint">
                {count(taken)} of {count(total)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function ProviderList(): JSX.Element {
  const providers = useProviders();
  const all: WireProvider[] = [...(providers.value?.values() ?? [])];
  return (
    <Card title="Providers" beside={<a href={href('/providers')}>All</a>}>
      {providers.value === null ? (
        <Loading />
      ) : all.length === 0 ? (
        <Empty icon="providers" title="No provider is known yet">
          A worker brings those that it serves.
        </Empty>
      ) : (
        <ul class="provider-list">
          {all.map(({ name, status, running, free_slots: free, workers }) => (
            <li key={name}>
              <span class="provider-name">{name}</span>
              <Badge status={status} />
              <span class="faint number">
                {count(running)} running, {count(free)} free, {plural(workers, 'worker')}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
