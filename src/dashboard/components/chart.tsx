import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { theme } from '../shell/preferences.ts';
import { Card } from './page.tsx';

/** A line of a chart, in the colour of a tone, which means the same as elsewhere. */
export interface ChartSeries {
  label: string;
  tone: 'info' | 'active' | 'good' | 'bad' | 'warn' | 'neutral';
  /** null where unknown. */
  values: readonly (number | null)[];
  isDashed?: boolean;
}

interface ChartProps {
  title: string;
  /** Epoch seconds, rising. */
  times: readonly number[];
  series: readonly ChartSeries[];
  /** The text of a value. */
  format(value: number): string;
  /** Whether fractions are meaningless, as for jobs: the axis then has whole numbers. */
  isWhole?: boolean;
  /** Charts of one group share the position of the pointer. */
  group: string;
  /** The text of a time, epoch seconds; by default the time of day. */
  formatTime?: (seconds: number) => string;
  /** For values of a period instead of a moment: a bar each, this many seconds wide. */
  barSeconds?: number;
  /** Shown below the lines. */
  children?: ComponentChildren;
}

const height = 150;
/** Space between two labels of the time axis, px. */
const labelSpace = 70;
const dark = window.matchMedia('(prefers-color-scheme: dark)');

/** Lines over time. The legend has the latest values, or those under the pointer. */
// Over 60 lines: its markup stays in one piece.
export function Chart({
  title,
  times,
  series,
  format,
  isWhole = false,
  group,
  formatTime = clockTime,
  barSeconds,
  children,
}: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const formatRef = useRef(format);
  formatRef.current = format;
  const formatTimeRef = useRef(formatTime);
  formatTimeRef.current = formatTime;
  const names = series.map(({ label }) => label).join();
  const data = useRef<uPlot.AlignedData>([[]]);
  data.current = [[...times], ...series.map(({ values }) => [...values])];
  const shownTheme = theme.value;
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const draw = (): void => {
      plot.current?.destroy();
      const width = Math.max(200, parent.clientWidth);
      plot.current = new uPlot(
        optionsOf({
          parent,
          series,
          isWhole,
          group,
          width,
          barSeconds,
          format: (value) => formatRef.current(value),
          formatTime: (seconds) => formatTimeRef.current(seconds),
        }),
        data.current,
        parent,
      );
    };
    draw();
    const sizes = new ResizeObserver(() => {
      if (plot.current !== null && Math.abs(plot.current.width - parent.clientWidth) > 1)
        plot.current.setSize({ width: Math.max(200, parent.clientWidth), height });
    });
    sizes.observe(parent);
    dark.addEventListener('change', draw);
    return () => {
      sizes.disconnect();
      dark.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = null;
    };
    // Colours are read once, so another theme needs a new drawing; the labels identify the series.
  }, [names, isWhole, group, shownTheme, barSeconds]);
  useEffect(() => plot.current?.setData(data.current), [times, series]);
  return (
    <Card title={title} class="chart-card">
      <ul class="chart-legend">
        {series.map(({ label, tone, values, isDashed }) => {
          const last = values.findLast((value) => value !== null);
          return (
            <li key={label} class={`tone-${tone}`}>
              <span class={isDashed === true ? 'legend-mark dashed' : 'legend-mark'} aria-hidden="true" />
              {label} <strong class="number">{last == null ? '–' : format(last)}</strong>
            </li>
          );
        })}
      </ul>
      <div ref={place} class="chart" role="img" aria-label={`${title}: ${describe(series, format)}`} />
      {children}
    </Card>
  );
}

/** The chart in words: the latest value of each line, and the highest. */
function describe(series: readonly ChartSeries[], format: (value: number) => string): string {
  return series
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== null);
      const last = known.at(-1);
      if (last === undefined) return `${label} not known`;
      return `${label} ${format(last)}, at most ${format(known.reduce((a, b) => Math.max(a, b)))}`;
    })
    .join('; ');
}

// Over 60 lines: one literal of options for uPlot.
function optionsOf(about: {
  parent: HTMLElement;
  series: readonly ChartSeries[];
  isWhole: boolean;
  group: string;
  width: number;
  barSeconds: number | undefined;
  format(value: number): string;
  formatTime(seconds: number): string;
}): uPlot.Options {
  const { parent, series, isWhole, group, width, barSeconds, format, formatTime } = about;
  const half = (barSeconds ?? 0) / 2;
  const colour = colourReader(parent);
  const faint = colour('--faint');
  const line = colour('--line');
  const axis = {
    stroke: faint,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { sync: { key: group }, y: false, points: { show: false } },
    scales: {
      // Half a bar extends beyond the first and the last time.
      x: { time: true, ...(half === 0 ? {} : { range: (_, min, max) => [min - half, max + half] }) },
      y: { range: (_, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        space: labelSpace,
        values: (_, splits) => splits.map(formatTime),
        // A bar has its label below it; and uPlot alone would use the browser's time zone, not the report's.
        ...(half === 0 ? { incrs: tickSteps } : { splits: ({ data, width: all }) => thinned(data[0], all) }),
      },
      {
        ...axis,
        size: 58,
        space: 34,
        values: (_, splits) => splits.map(format),
        ...(isWhole ? { incrs: wholeSteps } : {}),
      },
    ],
    series: [
      {},
      ...series.map(({ label, tone, isDashed }): uPlot.Series => {
        const stroke = colour(`--${tone}`);
        return {
          label,
          stroke,
          width: 1.75,
          points: { show: false },
          ...barsOf(stroke, barSeconds),
          ...(isDashed === true ? { dash: [4, 3] } : {}),
        };
      }),
    ],
  };
}

/** Steps of an axis of whole numbers: 1, 2, 5, 10 and so on. */
const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

/** As many times as there is room for labels, evenly spaced. */
function thinned(times: ArrayLike<number>, width: number): number[] {
  const step = Math.max(1, Math.ceil((times.length * labelSpace) / width));
  return Array.from(times).filter((_, index) => index % step === 0);
}

/** Bars that fill most of their period, at most 48 px wide. */
function barsOf(fill: string, barSeconds: number | undefined): Partial<uPlot.Series> {
  const paths = barSeconds === undefined ? undefined : uPlot.paths.bars?.({ size: [0.7, 48] });
  return paths === undefined ? {} : { fill, paths, width: 0 };
}

/** Custom properties contain `light-dark(…)`; only the computed colour of an element is the effective one. */
function colourReader(parent: HTMLElement): (name: string) => string {
  const before = parent.style.color;
  return (name) => {
    parent.style.color = `var(${name})`;
    const shown = getComputedStyle(parent).color;
    parent.style.color = before;
    return shown;
  };
}

/** Steps of the time axis, seconds; labels are in minutes. */
const tickSteps = [60, 120, 300, 600, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400];

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

function clockTime(seconds: number): string {
  return clock.format(seconds * 1000);
}
