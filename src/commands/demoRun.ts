import { setTimeout as pause } from 'node:timers/promises';
import { type Client, hasEnded } from '../client/client.ts';
import type { DispatchBody, WireJob } from '../domain/wire/job.ts';
import { humanDuration } from '../lib/humanTime.ts';
import { plainLine } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import { startSpinner } from '../lib/spinner.ts';
import type { Column } from '../lib/table.ts';
import type { Io } from './io.ts';
import {
  costText,
  dollarText,
  promptText,
  ranMs,
  shortId,
  spanText,
  statusColour,
  statusText,
  tokensOf,
  waitedMs,
} from './jobText.ts';
import { sheetTable } from './sheet.ts';

export interface Demo {
  client: Client;
  jobs: readonly DispatchBody[];
  /** Of the worker; only shown. */
  slots: number;
  signal: AbortSignal;
}

const lookEveryMs = 150;

/**
 * Dispatch the jobs, show their progress, and print the results.
 * @returns how many did not complete.
 */
export async function runDemo({ client, jobs, slots, signal }: Demo, io: Io): Promise<number> {
  const begun = performance.now();
  io.out.line(
    `${jobs.length} jobs for one worker with ${slots} slots, sent with the least urgent first; urgent jobs overtake them.`,
  );
  const ids: string[] = [];
  for (const job of jobs) {
    if (signal.aborted) return 0;
    ids.push((await client.dispatch(job)).id);
  }
  const ended = await watch(client, ids, signal, io);
  if (signal.aborted) return 0;
  const byStart = ended.toSorted((a, b) => (a.started_at ?? '').localeCompare(b.started_at ?? ''));
  io.out.line();
  io.out.lines(resultTable(byStart, io.out));
  io.out.line();
  io.out.lines(await answerLines(client, byStart, io.out));
  io.out.line();
  io.out.line(summary(ended, performance.now() - begun));
  return ended.filter(({ status }) => status !== 'completed').length;
}

/** Poll until every job has ended. A terminal gets one line that is updated, anything else a line for each change. */
async function watch(
  client: Client,
  ids: readonly string[],
  signal: AbortSignal,
  io: Io,
): Promise<WireJob[]> {
  const spinner = startSpinner(io.out, 'dispatched');
  const shown = new Map<string, string>();
  try {
    for (;;) {
      const { jobs } = await client.jobs({ limit: 1000 });
      const ours = jobs.filter(({ id }) => ids.includes(id));
      spinner.say(progress(ours));
      if (!io.out.isTerminal) printChanges(ours, shown, io.out);
      if (signal.aborted || ours.every(hasEnded)) return ours;
      await pause(lookEveryMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    spinner.stop();
  }
}

function progress(jobs: readonly WireJob[]): string {
  const running = jobs.filter(({ status }) => status === 'running');
  const waiting = jobs.filter(({ status }) => status === 'pending').length;
  const ended = jobs.filter(hasEnded).length;
  const names = running.map((job) => `${promptText(job)} (${job.priority})`).join(' · ');
  return `${ended} of ${jobs.length} done, ${running.length} running, ${waiting} waiting${names === '' ? '' : `: ${names}`}`;
}

function printChanges(jobs: readonly WireJob[], shown: Map<string, string>, screen: Screen): void {
  for (const job of jobs.toReversed()) {
    const state = statusText(job);
    if (shown.get(job.id) === state) continue;
    shown.set(job.id, state);
    screen.line(
      `${state.padEnd(9)}  ${shortId(job.id)}  ${job.priority.padEnd(10)}  ${plainLine(promptText(job))}`,
    );
  }
}

/** In the order of their starts, to show the priorities. */
function resultTable(jobs: readonly WireJob[], screen: Screen): string[] {
  const now = Date.now();
  const columns: Column<WireJob>[] = [
    { header: 'ID', value: ({ id }) => shortId(id) },
    { header: 'PROMPT', value: promptText, shrinkTo: 14 },
    { header: 'PRIORITY', value: ({ priority }) => priority },
    { header: 'TIER', value: ({ tier }) => tier ?? '-', shrinkTo: 4 },
    { header: 'STATUS', value: statusText, paint: (text, job) => screen.paint(statusColour(job), text) },
    { header: 'IN', value: (job) => String(tokensOf(job).input), align: 'right' },
    { header: 'OUT', value: (job) => String(tokensOf(job).output), align: 'right' },
    { header: 'WAITED', value: (job) => spanText(waitedMs(job, now)), align: 'right' },
    { header: 'RAN', value: (job) => spanText(ranMs(job, now)), align: 'right' },
    { header: 'COST', value: costText, align: 'right' },
  ];
  return sheetTable(columns, jobs, screen);
}

/** Answers that the demonstration prints. */
const answersShown = 3;
const answerCharacters = 200;

/** The first answers; lists contain results only on request. */
async function answerLines(client: Client, jobs: readonly WireJob[], screen: Screen): Promise<string[]> {
  const { jobs: whole } = await client.jobs({ status: 'completed', include: ['result'], limit: 1000 });
  const results = new Map(whole.map((job) => [job.id, job]));
  const answers = jobs.flatMap(({ id }) => results.get(id) ?? []).slice(0, answersShown);
  const lines = answers.flatMap((job) => [
    `${screen.paint('bold', shortId(job.id))}  ${plainLine(promptText(job))}`,
    `  ${excerpt(plainLine(job.result?.output ?? ''))}`,
  ]);
  return [`The first ${answers.length} answers; svc jobs get <id> prints any of them:`, ...lines];
}

function excerpt(text: string): string {
  return text.length <= answerCharacters ? text : `${text.slice(0, answerCharacters)}…`;
}

function summary(jobs: readonly WireJob[], tookMs: number): string {
  const completed = jobs.filter(({ status }) => status === 'completed').length;
  const tokens = jobs.map(tokensOf);
  const input = tokens.reduce((sum, one) => sum + one.input, 0);
  const output = tokens.reduce((sum, one) => sum + one.output, 0);
  const dollars = jobs.reduce((sum, job) => sum + (job.cost_usd ?? 0), 0);
  return `${completed} of ${jobs.length} jobs completed in ${humanDuration(tookMs)}: ${input} tokens in, ${output} out, ${dollarText(dollars)} at made-up prices.`;
}
