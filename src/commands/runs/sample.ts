import { createInterface } from 'node:readline/promises';
import { Readable } from 'node:stream';
import type { FileJob, JobFile } from '../../bulk/jobFile.ts';
import type { Client } from '../../client/client.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import type { WireRunResult } from '../../domain/wire/run.ts';
import { plainLine } from '../../lib/plainText.ts';
import { cutToWidth } from '../../lib/textWidth.ts';
import { CommandFailure, exitCodes } from '../exit.ts';
import type { Io } from '../io.ts';
import { dollarText } from '../jobText.ts';
import { followRun } from './followRun.ts';
import type { Patience } from './patience.ts';
import type { Progress } from './progress.ts';
import { countText } from './runText.ts';
import { sendJobs } from './send.ts';

/** Columns of an answer where there is no terminal. */
const widthMax = 200;

interface Wanted {
  /** Of the run. */
  name: string;
  fields: DispatchBody;
  /** How many lines to try. */
  sample: number;
  yes: boolean;
  /** Of the file; null when they were not counted. */
  lines: number | null;
}

interface Tools {
  io: Io;
  progress: Progress;
  signal: AbortSignal;
  /** On the clock of performance.now(). */
  deadline: number;
  patience: Patience;
}

/**
 * Run the first lines of a file, show their answers and what all would cost, and ask.
 * @returns whether to send the others.
 */
export async function runSample(
  client: Client,
  file: JobFile,
  wanted: Wanted,
  tools: Tools,
): Promise<boolean> {
  const { name, fields, sample, yes, lines } = wanted;
  const { io, progress, signal, deadline, patience } = tools;
  const sent = { lines: 0, created: 0 };
  await sendJobs(client, file, { run: name, fields, most: sample }, patience, sent);
  const run = await followRun(client, { name, signal, deadline, progress }, patience);
  progress.clear();
  if (run === null)
    throw new CommandFailure(exitCodes.timedOut, `the sample of run ${name} has not ended yet`);
  const jobs = await first(file, sample);
  const results = await patience.ask(() =>
    client.runResults(
      name,
      jobs.map(({ id }) => id),
      { signal },
    ),
  );
  const width = Math.min(widthMax, io.err.width);
  for (const [index, result] of results.entries())
    io.err.line(cutToWidth(plainLine(answerLine(jobs[index], result)), width));
  io.err.line(costLine(results, lines));
  if (lines !== null && lines <= jobs.length) return true;
  if (yes) return true;
  const rest = lines === null ? 'the rest' : `the other ${countText(lines - jobs.length)} lines`;
  return confirm(`Send ${rest}? [y/N] `, io, signal);
}

async function first(file: JobFile, count: number): Promise<FileJob[]> {
  const jobs: FileJob[] = [];
  for await (const job of file.jobs()) {
    jobs.push(job);
    if (jobs.length >= count) break;
  }
  return jobs;
}

function answerLine(job: FileJob | undefined, { status, output, error }: WireRunResult): string {
  const id = job?.ownId ?? `line ${job?.line}`;
  return `${id}  ${status}  ${output ?? error?.message ?? ''}`;
}

function costLine(results: readonly WireRunResult[], lines: number | null): string {
  const known = results.flatMap(({ cost_usd: dollars }) => (dollars === null ? [] : [dollars]));
  if (known.length === 0) return 'What they cost is not known.';
  const sum = known.reduce((all, one) => all + one, 0);
  const whole =
    lines === null
      ? ''
      : `; all ${countText(lines)} lines: about ${dollarText((sum / known.length) * lines)}`;
  const unknown = results.length - known.length;
  const missing = unknown === 0 ? '' : ` (${unknown} of unknown cost left out)`;
  return `${countText(known.length)} lines cost ${dollarText(sum)}${missing}${whole}`;
}

async function confirm(question: string, io: Io, signal: AbortSignal): Promise<boolean> {
  const input = io.stdin instanceof Readable ? io.stdin : Readable.from(io.stdin);
  const lines = createInterface({ input });
  try {
    io.err.write(question);
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve).once('close', () => resolve(''));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
