import type {
  WireCostBreakdown,
  WireCostLine,
  WireCostPeriod,
  WireCostSummary,
} from '../domain/wire/cost.ts';
import type { Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { dollarText } from './jobText.ts';
import { factLines, sheetTable } from './sheet.ts';

/** Cost reports in words. */

/** Never 0 for an unknown cost: `?` when nothing is known, `≥` when a part is not. */
export function sumText(dollars: number, unknownAttempts: number): string {
  if (unknownAttempts === 0) return dollarText(dollars);
  return dollars === 0 ? '?' : `≥${dollarText(dollars)}`;
}

const previousNames = {
  day: 'the day before',
  week: 'the week before',
  month: 'the month before',
  custom: 'same number of days before',
};

/** The totals of a period, and of its hours or days in which attempts ended. */
export function summarySheet(summary: WireCostSummary, screen: Screen): string[] {
  const { previous, series, period, timezone, unknown_cost_attempts: unknown } = summary;
  const before = sumText(previous.total_cost_usd, previous.unknown_cost_attempts);
  const facts: [name: string, value: string][] = [
    ['Period', periodText(summary)],
    ['Cost', `${sumText(summary.total_cost_usd, unknown)} (${previousNames[period]}: ${before})`],
    ['Jobs', `${count(summary.jobs)}, in ${count(summary.attempts)} attempts`],
    ['Input', `${count(summary.input_tokens)} tokens, ${count(summary.cached_input_tokens)} of them cached`],
    [
      'Output',
      `${count(summary.output_tokens)} tokens, ${count(summary.reasoning_tokens)} of them reasoning`,
    ],
  ];
  if (unknown > 0) facts.push(['Unknown', `the cost of ${count(unknown)} attempts`]);
  const lines = factLines(facts, screen);
  const parts = series.filter((part) => part.jobs > 0 || part.cost_usd > 0 || part.unknown_cost_attempts > 0);
  if (parts.length === 0) return lines;
  const columns: Column<WireCostSummary['series'][number]>[] = [
    { header: period === 'day' ? 'HOUR' : 'DAY', value: ({ from }) => partText(from, period, timezone) },
    {
      header: 'COST',
      value: ({ cost_usd, unknown_cost_attempts }) => sumText(cost_usd, unknown_cost_attempts),
      align: 'right',
    },
    { header: 'JOBS', value: ({ jobs }) => count(jobs), align: 'right' },
  ];
  return [...lines, '', ...sheetTable(columns, parts, screen)];
}

type Line = WireCostLine & { names: readonly string[] };

/** The breakdown; null when it is empty. */
export function breakdownTable(breakdown: WireCostBreakdown, screen: Screen): string[] | null {
  const { headers, lines } = linesOf(breakdown);
  if (lines.length === 0) return null;
  const columns: Column<Line>[] = [
    ...headers.map((header, index): Column<Line> => {
      return { header, value: ({ names }) => names[index] ?? '', shrinkTo: 8 };
    }),
    {
      header: 'COST',
      value: ({ cost_usd, unknown_cost_attempts }) => sumText(cost_usd, unknown_cost_attempts),
      align: 'right',
    },
    { header: 'SHARE', value: ({ share }) => `${(share * 100).toFixed(1)} %`, align: 'right' },
    { header: 'JOBS', value: ({ jobs }) => count(jobs), align: 'right' },
    { header: 'ATTEMPTS', value: ({ attempts }) => count(attempts), align: 'right' },
    { header: 'INPUT', value: ({ input_tokens }) => count(input_tokens), align: 'right' },
    { header: 'OUTPUT', value: ({ output_tokens }) => count(output_tokens), align: 'right' },
    {
      header: 'UNKNOWN',
      value: ({ unknown_cost_attempts }) => count(unknown_cost_attempts),
      align: 'right',
    },
  ];
  return sheetTable(columns, lines, screen);
}

/** The table's headers and lines. By provider each is followed by its models. */
function linesOf(breakdown: WireCostBreakdown): { headers: string[]; lines: Line[] } {
  const { providers, models, workers, tags, tiers } = breakdown;
  const named = <T extends WireCostLine>(of: readonly T[], names: (line: T) => (string | null)[]): Line[] =>
    of.map((line) => ({ ...line, names: names(line).map((name) => name ?? '-') }));
  if (providers !== undefined) {
    const lines = providers.flatMap((provider) => [
      ...named([provider], () => [provider.provider, '']),
      ...named(provider.models, ({ model }) => ['', model]),
    ]);
    return { headers: ['PROVIDER', 'MODEL'], lines };
  }
  if (models !== undefined) {
    return {
      headers: ['PROVIDER', 'MODEL'],
      lines: named(models, ({ provider, model }) => [provider, model]),
    };
  }
  if (workers !== undefined) {
    return {
      headers: ['WORKER', 'ID'],
      lines: named(workers, ({ name, worker_id }) => [name, worker_id]),
    };
  }
  if (tags !== undefined) return { headers: ['TAG'], lines: named(tags, ({ tag }) => [tag]) };
  return { headers: ['TIER'], lines: named(tiers ?? [], ({ tier }) => [tier]) };
}

/** `day, 2026-11-21 00:00 to 2026-11-21 09:30, UTC`; `days` for a range of days. */
export function periodText({ period, from, to, timezone }: WireCostPeriod): string {
  return `${period === 'custom' ? 'days' : period}, ${timeText(from, timezone)} to ${timeText(to, timezone)}, ${timezone}`;
}

function timeText(at: string, timeZone: string): string {
  const options = { timeZone, dateStyle: 'short', timeStyle: 'short' } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(new Date(at));
}

/** `09:00` of a day, `2026-11-21 Sat` of a week or month. */
function partText(at: string, period: WireCostPeriod['period'], timeZone: string): string {
  if (period === 'day') return timeText(at, timeZone).slice('2026-11-21 '.length);
  const weekday = new Intl.DateTimeFormat('en', { timeZone, weekday: 'short' }).format(new Date(at));
  return `${timeText(at, timeZone).slice(0, '2026-11-21'.length)} ${weekday}`;
}

const count = (number: number): string => number.toLocaleString('en');
