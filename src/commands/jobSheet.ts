import type { WireAttempt, WireJob } from '../domain/wire/job.ts';
import { relativeTime } from '../lib/humanTime.ts';
import { plainLine, plainText } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import { tableLines } from '../lib/table.ts';
import {
  costText,
  nowText,
  promptText,
  ranMs,
  spanText,
  statusColour,
  statusText,
  waitedMs,
} from './jobText.ts';
import { factLines } from './sheet.ts';

/** Everything about one job, for people, one line after the other. */
export function jobSheet(job: WireJob, screen: Screen, now: number): string[] {
  const facts: [name: string, value: string | null][] = [
    ['Job', job.id],
    ['Status', screen.paint(statusColour(job), statusText(job))],
    ['Now', job.status === 'pending' || job.status === 'running' ? plainLine(nowText(job, now)) : null],
    ['Prompt', plainLine(promptText(job))],
    ['Run', job.run ? plainLine(`${job.run.name}, line ${job.run.line_id}`) : null],
    ['Asked for', plainLine(`${job.provider ?? 'any provider'}, ${job.model ?? 'any model'}`)],
    ['Priority', plainLine(job.priority)],
    ['Tier', job.tier === null ? null : plainLine(job.tier)],
    ['Tags', job.tags.length === 0 ? null : plainLine(job.tags.join(', '))],
    ['Created', at(job.created_at, now)],
    ['Sent by', job.created_by === null ? null : plainLine(job.created_by.name ?? job.created_by.key_id)],
    ['Not before', at(job.not_before, now)],
    ['Started', at(job.started_at, now)],
    ['Finished', at(job.finished_at, now)],
    ['Waited', spanText(waitedMs(job, now))],
    ['Ran', spanText(ranMs(job, now))],
    ['Cost', costText(job)],
    ['Counts', `attempts ${job.attempt_count}, retries by hand ${job.retry_count}, reaped ${job.reap_count}`],
    [
      'Error',
      job.error === null ? null : screen.paint('red', plainLine(`${job.error.code}: ${job.error.message}`)),
    ],
  ];
  const shown = facts.flatMap(([name, value]): [name: string, value: string][] =>
    value === null || value === '' ? [] : [[name, value]],
  );
  return [
    ...factLines(shown, screen),
    ...section('Attempts', attemptLines(job.attempts, screen), screen),
    ...section('Route', routeLines(job), screen),
    ...section('Input', textLines(job.input), screen),
    ...section('Output', textLines(job.result?.output), screen),
  ];
}

function at(iso: string | null, now: number): string | null {
  return iso === null ? null : `${iso} (${relativeTime(Date.parse(iso), now)})`;
}

function section(title: string, lines: readonly string[], screen: Screen): string[] {
  return lines.length === 0 ? [] : ['', screen.paint('bold', title), ...lines.map((line) => `  ${line}`)];
}

function attemptLines(attempts: readonly WireAttempt[], screen: Screen): string[] {
  if (attempts.length === 0) return [];
  const span = ({ started_at, finished_at }: WireAttempt): string =>
    spanText(finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at));
  return tableLines<WireAttempt>(
    [
      { header: '#', value: ({ number }) => String(number), align: 'right' },
      { header: 'OUTCOME', value: ({ outcome }) => outcome ?? 'running' },
      { header: 'PROVIDER', value: ({ provider }) => provider },
      { header: 'MODEL', value: ({ model }) => model ?? '-' },
      { header: 'WORKER', value: ({ worker_id }) => worker_id, shrinkTo: 8 },
      { header: 'RAN', value: span, align: 'right' },
      {
        header: 'IN',
        value: ({ usage }) => (usage === null ? '-' : String(usage.input_tokens)),
        align: 'right',
      },
      {
        header: 'OUT',
        value: ({ usage }) => (usage === null ? '-' : String(usage.output_tokens)),
        align: 'right',
      },
      { header: 'COST', value: costText, align: 'right' },
      { header: 'ERROR', value: ({ error }) => error?.message ?? '', shrinkTo: 10 },
    ],
    attempts,
    { width: screen.width - 2, paintHeader: (text) => screen.paint('dim', text) },
  );
}

function routeLines({ route }: WireJob): string[] {
  return route.map(({ provider, model, outcome, why }) => {
    return plainLine(`${outcome} ${provider}${model === null ? '' : ` ${model}`}: ${why}`);
  });
}

function textLines(text: string | null | undefined): string[] {
  return text === null || text === undefined || text === '' ? [] : plainText(text).trimEnd().split('\n');
}
