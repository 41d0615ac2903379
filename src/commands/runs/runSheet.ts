import type { WireRun } from '../../domain/wire/run.ts';
import { relativeTime } from '../../lib/humanTime.ts';
import { plainLine } from '../../lib/plainText.ts';
import type { Screen } from '../../lib/screen.ts';
import type { Column } from '../../lib/table.ts';
import { dollarText } from '../jobText.ts';
import { factLines, sheetTable, whenText } from '../sheet.ts';
import {
  compactText,
  countText,
  endedOf,
  failureText,
  leftText,
  pauseLines,
  retryText,
  runColour,
  spentText,
} from './runText.ts';

/** Runs as a table. @param now epoch ms. */
export function runTable(runs: readonly WireRun[], screen: Screen, now: number): string[] {
  const columns: Column<WireRun>[] = [
    { header: 'NAME', value: ({ name }) => name, shrinkTo: 12 },
    {
      header: 'STATUS',
      value: ({ status }) => status,
      paint: (text, { status }) => screen.paint(runColour(status), text),
    },
    { header: 'JOBS', value: ({ counts }) => countText(counts.total), align: 'right' },
    { header: 'DONE', value: partText, align: 'right' },
    { header: 'FAILED', value: ({ counts }) => countText(counts.failed), align: 'right' },
    { header: 'COST', value: spentText, align: 'right' },
    { header: 'LEFT', value: (run) => leftText(run, now) ?? '-', align: 'right' },
    { header: 'AGE', value: ({ created_at }) => whenText(created_at, now), align: 'right' },
    {
      header: 'SENT BY',
      value: ({ created_by }) => created_by?.name ?? created_by?.key_id ?? '-',
      shrinkTo: 7,
    },
  ];
  return sheetTable(columns, runs, screen);
}

function partText(run: WireRun): string {
  const { total } = run.counts;
  return total === 0 ? '-' : `${Math.floor((endedOf(run) / total) * 100)} %`;
}

/** Everything about one run, for people. @param now epoch ms. */
export function runSheet(run: WireRun, screen: Screen, now: number): string[] {
  const { counts } = run;
  const left = leftText(run, now);
  const facts: [name: string, value: string | null][] = [
    ['Run', run.name],
    ['Status', screen.paint(runColour(run.status), run.status)],
    ['Created', `${at(run.created_at, now)}${by(run)}`],
    ['Finished', run.finished_at === null ? null : at(run.finished_at, now)],
    ['Progress', `${countText(endedOf(run))} of ${countText(counts.total)} jobs (${partText(run)})`],
    [
      'Jobs',
      (['completed', 'failed', 'cancelled', 'running', 'pending'] as const)
        .filter((status) => counts[status] > 0)
        .map((status) => `${countText(counts[status])} ${status}`)
        .join(', '),
    ],
    ['Rate', run.status === 'running' ? `${countText(Math.round(run.rate_per_minute))} jobs a minute` : null],
    ['Time left', left],
    ['Tokens', `${compactText(run.input_tokens)} in, ${compactText(run.output_tokens)} out`],
    ['Cost', costText(run)],
    ['Limits', limitsText(run, now)],
    ['Defaults', Object.keys(run.defaults).length === 0 ? null : plainLine(JSON.stringify(run.defaults))],
  ];
  const shown = facts.flatMap(([name, value]): [string, string][] =>
    value === null || value === '' ? [] : [[name, value]],
  );
  return [
    ...factLines(shown, screen),
    ...(run.paused === null ? [] : ['', ...pauseLines(run)]),
    ...failureSection(run, screen),
  ];
}

function at(iso: string, now: number): string {
  return `${iso} (${relativeTime(Date.parse(iso), now)})`;
}

function by({ created_by: key }: WireRun): string {
  return key === null ? '' : ` by ${plainLine(key.name ?? key.key_id)}`;
}

function costText(run: WireRun): string {
  const { cost_expected_usd: expected, cost_reserved_usd: reserved, unknown_cost_attempts: unknown } = run;
  const parts = [
    spentText(run),
    ...(expected === null ? [] : [`${dollarText(expected)} expected in all`]),
    ...(reserved > 0 ? [`${dollarText(reserved)} set aside for running jobs`] : []),
    ...(unknown > 0 ? [`${countText(unknown)} attempts of unknown cost`] : []),
  ];
  return parts.join(', ');
}

function limitsText({ max_cost_usd, max_failures, deadline }: WireRun, now: number): string | null {
  const parts = [
    ...(max_cost_usd === null ? [] : [`at most ${dollarText(max_cost_usd)}`]),
    ...(max_failures === null ? [] : [`at most ${countText(max_failures)} failures`]),
    ...(deadline === null ? [] : [`until ${at(deadline, now)}`]),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

function failureSection(run: WireRun, screen: Screen): string[] {
  if (run.failures.length === 0) return [];
  return [
    '',
    screen.paint('bold', 'Failures'),
    ...run.failures.flatMap((failure) => [
      `  ${screen.paint('red', failureText(failure))}`,
      `    ${retryText(run.name, failure)}`,
      `    svc jobs get ${failure.job_id}`,
    ]),
  ];
}
