import { setTimeout as pause } from 'node:timers/promises';
import { ApiError, type Client, Unreachable } from '../client/client.ts';
import { messageOf } from '../domain/errors.ts';
import type { WireJob, WireJobList } from '../domain/wire/job.ts';
import { interruptSignal } from '../lib/interrupt.ts';
import { plainLine } from '../lib/plainText.ts';
import { type Screen, screenControls } from '../lib/screen.ts';
import { startSpinner } from '../lib/spinner.ts';
import { cutToWidth } from '../lib/textWidth.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';
import { jobTable } from './jobTable.ts';
import { nowText, promptText, shortId, statusColour, statusText } from './jobText.ts';
import { LiveOutput } from './liveOutput.ts';

/**
 * Follow one job to its end: a line for every state, and on a terminal its output as it is generated.
 * @throws CommandFailure when it does not complete.
 */
export async function watchJob(client: Client, id: string, io: Io): Promise<void> {
  let said = '';
  const spinner = startSpinner(io.err, `job ${id}`);
  const live = io.out.isTerminal ? new LiveOutput(io, spinner) : null;
  const onUpdate = (job: WireJob): void => {
    spinner.say(`${statusText(job)} ${nowText(job, Date.now())}`);
    const state = `${statusText(job)} ${job.waiting?.reason ?? ''} ${job.attempt_count}`;
    if (state === said) return;
    said = state;
    const line = changeLine(job, io.out);
    spinner.clear();
    live?.endLine();
    io.out.line(line);
  };
  const job = await client
    .follow(id, { onUpdate, onOutput: (part) => live?.add(part), signal: interruptSignal() })
    .finally(() => {
      spinner.stop();
      live?.endLine();
    });
  onUpdate(job);
  if (job.status !== 'completed') throw new CommandFailure(exitCodes.failed, `job ${id} was ${job.status}`);
}

function changeLine(job: WireJob, screen: Screen): string {
  const status = screen.paint(statusColour(job), statusText(job).padEnd(9));
  return `${new Date().toISOString()}  ${status}  ${plainLine(nowText(job, Date.now()))}`.trimEnd();
}

const everyMs = 1000;
/** The number of newest jobs to watch. */
const watchedMax = 200;

/**
 * The newest jobs until Ctrl-C: a list that redraws itself, or, without a terminal, a line for each change from now on,
 * including new jobs.
 */
export async function watchJobs(client: Client, io: Io): Promise<void> {
  const signal = interruptSignal();
  const isLive = io.out.isTerminal;
  // The first request precedes the screen, so that an error stays readable.
  let list = await client.jobs({ limit: watchedMax });
  const show = isLive ? redraw(io.out) : tellChanges(io.out, list);
  if (isLive) io.out.write(screenControls.enter);
  try {
    for (let trouble: string | null = null; !signal.aborted; ) {
      show(list, trouble);
      await pause(everyMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      const answer = await client.jobs({ limit: watchedMax }).catch(problemOf);
      trouble = typeof answer === 'string' ? answer : null;
      if (typeof answer !== 'string') list = answer;
    }
  } finally {
    if (isLive) io.out.write(screenControls.leave);
  }
}

/** The notice while the coordinator is away or busy: the next request may succeed. @throws any other failure. */
function problemOf(error: unknown): string {
  const passes =
    error instanceof Unreachable ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500));
  if (passes) return messageOf(error);
  throw error;
}

type Show = (list: WireJobList, trouble: string | null) => void;

function redraw(screen: Screen): Show {
  return ({ jobs, total }, trouble) => {
    const counts = ['running', 'pending', 'completed', 'failed', 'cancelled']
      .map((status) => ({ status, n: jobs.filter((job) => job.status === status).length }))
      .filter(({ n }) => n > 0)
      .map(({ status, n }) => `${n} ${status}`)
      .join(', ');
    const title = `${new Date().toLocaleTimeString('en-GB')}  ${total} jobs; of the newest ${jobs.length}: ${counts || 'none'}  (Ctrl-C to quit)`;
    const rows = Math.max(1, screen.height - 4);
    const lines = [
      screen.paint('bold', cutToWidth(title, screen.width)),
      trouble === null ? '' : screen.paint('red', cutToWidth(plainLine(trouble), screen.width)),
      ...jobTable(jobs.slice(0, rows), screen, Date.now()),
    ];
    screen.write(
      `${screenControls.home}${lines.join(`${screenControls.clearRest}\n`)}${screenControls.clearBelow}`,
    );
  };
}

function tellChanges(screen: Screen, first: WireJobList): Show {
  const known = new Map(first.jobs.map((job) => [job.id, statusText(job)]));
  return ({ jobs }) => {
    // Oldest first, so that the lines are in the order of the jobs.
    for (const job of jobs.toReversed()) {
      const state = statusText(job);
      if (known.get(job.id) === state) continue;
      known.set(job.id, state);
      screen.line(
        `${new Date().toISOString()}  ${shortId(job.id)}  ${state.padEnd(9)}  ${plainLine(promptText(job))}`,
      );
    }
    const present = new Set(jobs.map(({ id }) => id));
    for (const id of known.keys()) if (!present.has(id)) known.delete(id);
  };
}
