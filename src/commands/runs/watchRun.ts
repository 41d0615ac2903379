import type { Client } from '../../client/client.ts';
import { interruptSignal } from '../../lib/interrupt.ts';
import { CommandFailure, exitCodes, jobContinues } from '../exit.ts';
import type { Io } from '../io.ts';
import { followRun } from './followRun.ts';
import { Patience } from './patience.ts';
import { createProgress } from './progress.ts';
import { countText, endedOf, failureLines, pauseLines } from './runText.ts';

/**
 * Show the progress of a run until nothing of it runs any more.
 * @throws CommandFailure (failed) unless all of its jobs completed; Interrupted at Ctrl-C.
 */
export async function watchRun(client: Client, name: string, io: Io): Promise<void> {
  const progress = createProgress(io.err, io.env);
  const signal = interruptSignal();
  const patience = new Patience(signal, (text) => progress.say(text), false);
  const deadline = Number.POSITIVE_INFINITY;
  const run = await followRun(client, { name, signal, deadline, progress }, patience).catch(
    (error: unknown) => {
      progress.clear();
      if (jobContinues(error)) progress.say(`Run ${name} goes on; svc runs cancel ${name} ends it.`);
      throw error;
    },
  );
  progress.clear();
  if (run === null) return;
  const { counts } = run;
  if (counts.pending > 0) io.err.lines(pauseLines(run));
  if (counts.failed > 0) io.err.lines(['Failures, and how to send them again:', ...failureLines(run)]);
  const sum = `Run ${run.name} is ${run.status}: ${countText(counts.completed)} of ${countText(counts.total)} jobs completed`;
  if (counts.completed < counts.total || endedOf(run) < counts.total)
    throw new CommandFailure(exitCodes.failed, sum);
  io.out.line(sum);
}
