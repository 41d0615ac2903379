import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { type StatsRange, statsRanges } from '../../../domain/stats.ts';
import type { WireStatsHistory } from '../../../domain/wire/stats.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { Chart } from '../../components/chart.tsx';
import { Loading } from '../../components/states.tsx';
import { compact } from '../../components/text.ts';
import { place, setQuery } from '../../router.ts';
import { courseRanges, useCourse } from './course.ts';

const whole = (value: number): string => compact(Math.round(value));
const ms = (value: number): string => (value === 0 ? '0' : humanDuration(value));

const dayClock = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', hourCycle: 'h23' });
/** Within a day the time is enough; within a week the day is needed too. */
const timeOf: Partial<Record<StatsRange, (seconds: number) => string>> = {
  week: (seconds) => dayClock.format(seconds * 1000),
};

/** The last hour, day or week in charts; the address selects which. */
export function Charts(): JSX.Element {
  const asked = place.value.query.get('range');
  const range = statsRanges.find((one) => one === asked) ?? 'hour';
  const course = useCourse(range);
  const { title, pointsMax } = courseRanges[range];
  const history = course.value;
  const drawn = useMemo(() => (history === null ? null : seriesOf(history)), [history]);
  return (
    <section class="course" aria-label={title}>
      <div class="course-head">
        <RangeChoice range={range} />
        {history === null || history.points.length >= pointsMax ? null : (
          <p class="hint">Recorded since the coordinator started.</p>
        )}
      </div>
      {drawn === null ? (
        <Loading lines={4} label="Loading the charts" />
      ) : (
        <ChartList drawn={drawn} formatTime={timeOf[range]} />
      )}
    </section>
  );
}

function RangeChoice({ range }: { range: StatsRange }): JSX.Element {
  return (
    <fieldset class="range-choice">
      <legend class="visually-hidden">Time that the charts show</legend>
      {statsRanges.map((one) => (
        <button
          key={one}
          type="button"
          class="chip"
          aria-pressed={one === range}
          title={courseRanges[one].title}
          onClick={() => setQuery({ range: one === 'hour' ? null : one })}
        >
          {courseRanges[one].label}
        </button>
      ))}
    </fieldset>
  );
}

function ChartList(props: {
  drawn: ReturnType<typeof seriesOf>;
  formatTime: ((seconds: number) => string) | undefined;
}): JSX.Element {
  const { times, queue, outcomes, waits, runs, tokens } = props.drawn;
  const shared = {
    times,
    isWhole: true,
    group: 'overview',
    ...(props.formatTime === undefined ? {} : { formatTime: props.formatTime }),
  };
  return (
    <div class="charts">
      <Chart {...shared} title="Jobs in the queue" series={queue} format={whole} />
      <Chart {...shared} title="Jobs a minute" series={outcomes} format={whole} />
      <Chart {...shared} title="Time in the queue" series={waits} format={ms} />
      <Chart {...shared} title="Time to run" series={runs} format={ms} />
      <Chart {...shared} title="Tokens a second" series={tokens} format={whole} />
    </div>
  );
}

function seriesOf({ step_seconds: stepSeconds, points }: WireStatsHistory) {
  const minute = (name: 'created' | 'completed' | 'failed' | 'cancelled') =>
    points.map(({ throughput }) => (throughput[name] * 60) / stepSeconds);
  const spread = (name: 'wait' | 'run', part: 'p50_ms' | 'p95_ms') =>
    points.map((point) => point[name][part]);
  return {
    times: points.map(({ at }) => Date.parse(at) / 1000),
    queue: [
      { label: 'Pending', tone: 'info' as const, values: points.map(({ pending }) => pending) },
      { label: 'Running', tone: 'active' as const, values: points.map(({ running }) => running) },
    ],
    outcomes: [
      { label: 'Created', tone: 'info' as const, values: minute('created'), isDashed: true },
      { label: 'Completed', tone: 'good' as const, values: minute('completed') },
      { label: 'Failed', tone: 'bad' as const, values: minute('failed') },
      { label: 'Cancelled', tone: 'neutral' as const, values: minute('cancelled') },
    ],
    waits: [
      { label: 'Median', tone: 'info' as const, values: spread('wait', 'p50_ms') },
      { label: '95 %', tone: 'info' as const, values: spread('wait', 'p95_ms'), isDashed: true },
    ],
    runs: [
      { label: 'Median', tone: 'active' as const, values: spread('run', 'p50_ms') },
      { label: '95 %', tone: 'active' as const, values: spread('run', 'p95_ms'), isDashed: true },
    ],
    tokens: [
      { label: 'Out', tone: 'good' as const, values: points.map((point) => point.tokens_per_second.output) },
      {
        label: 'In',
        tone: 'neutral' as const,
        values: points.map((point) => point.tokens_per_second.input),
        isDashed: true,
      },
    ],
  };
}
