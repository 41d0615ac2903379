import type { AnswerFormat } from '../../bulk/answers/answer.ts';
import { answerFormatOf } from '../../bulk/answers/index.ts';
import type { ReadOptions } from '../../bulk/format.ts';
import { checkJobFile, type JobFile, openJobFile } from '../../bulk/jobFile.ts';
import { openSource, type Source } from '../../bulk/source.ts';
import type { Client } from '../../client/client.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import type { OutputCheckBody, WireRun } from '../../domain/wire/run.ts';
import { interruptSignal } from '../../lib/interrupt.ts';
import { CommandFailure, exitCodeOf, exitCodes, jobContinues } from '../exit.ts';
import type { Io } from '../io.ts';
import { Answers, type Tally } from './answersOf.ts';
import { type Begun, beginRun, checkRunName, type LimitFlags, runNameFor } from './beginRun.ts';
import { type Destination, destinationOf } from './destination.ts';
import { followRun } from './followRun.ts';
import { Patience } from './patience.ts';
import { createProgress, type Progress } from './progress.ts';
import { countText, failureLines, pauseLines } from './runText.ts';
import { runSample } from './sample.ts';
import { type Sent, sendJobs } from './send.ts';

/** Up to this size a file is checked as a whole before anything of it is sent. */
const checkedBytesMax = 64 * 1024 ** 2;

export interface FileRunOptions {
  /** A path, or `-` for standard input. */
  file: string;
  /** Its form; undefined: by its name and content. */
  format: string | undefined;
  read: ReadOptions;
  /** undefined: a name is made. */
  run: string | undefined;
  /** For lines that do not set them. */
  defaults: DispatchBody;
  /** What the answers must be. */
  check: OutputCheckBody;
  limits: LimitFlags;
  output: string | undefined;
  outputFormat: string | undefined;
  follow: boolean;
  /** Run this many lines first and ask. */
  sample: number | undefined;
  /** Do not ask. */
  yes: boolean;
  /** Seconds for all of them; undefined: no limit. */
  waitSeconds: number | undefined;
  detach: boolean;
}

/** Open the file of the options, use it, and close it again. @throws FileFault when it cannot be used. */
export async function withJobFile<T>(
  { file, format, read }: Pick<FileRunOptions, 'file' | 'format' | 'read'>,
  io: Io,
  use: (file: JobFile) => Promise<T>,
): Promise<T> {
  const source = await openSource(file, io);
  try {
    return await use(await openJobFile(source, format, read));
  } finally {
    await source.close();
  }
}

/**
 * `svc run --file`: make a run of a file or go on with it, and write an answer for each of its lines in their order.
 * @throws FileFault, before anything of a small file is sent, when a line is not a job; CommandFailure (failed) when not
 * all of them complete, (timedOut) when the time is over; Interrupted at Ctrl-C; as the client does.
 */
export async function runFile(client: Client, options: FileRunOptions, io: Io): Promise<void> {
  const name = options.run === undefined ? null : checkRunName(options.run);
  const mustAsk = options.sample !== undefined && !options.yes;
  if (mustAsk && (options.file === '-' || io.stdin.isTTY !== true))
    throw new CommandFailure(
      exitCodes.usage,
      '--sample asks before it goes on; without a terminal give --yes',
    );
  await withJobFile(options, io, async (file) => {
    const progress = createProgress(io.err, io.env);
    const destination = await destinationOf(
      {
        output: options.output,
        follow: options.follow,
        input: file.source.path,
        onTerminal: () => progress.clear(),
      },
      io,
    );
    const format = answerFormatOf(options.outputFormat, options.output);
    const run = new FileRun({ client, options, io, file, progress, destination, format, name });
    await run.run();
  });
}

interface Parts {
  client: Client;
  options: FileRunOptions;
  io: Io;
  file: JobFile;
  progress: Progress;
  destination: Destination;
  format: AnswerFormat;
  /** null: a name is made. */
  name: string | null;
}

/** One `svc run --file` from the check of the file to the last answer. */
class FileRun {
  readonly #parts: Parts;
  readonly #name: string;
  readonly #signal = interruptSignal();
  readonly #deadline: number;
  readonly #sent: Sent = { lines: 0, created: 0 };
  /** Jobs of the file; null while they are not counted. */
  #lines: number | null = null;
  #isSent = false;

  constructor(parts: Parts) {
    const { options } = parts;
    this.#parts = parts;
    this.#name = parts.name ?? runNameFor(options.file, new Date(), Math.random());
    this.#deadline = performance.now() + (options.waitSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  }

  async run(): Promise<void> {
    const { client, options, file, progress, name } = this.#parts;
    if (isSmall(file.source)) this.#lines = await checkJobFile(file, this.#signal);
    const { defaults, limits, check } = options;
    const begun = await beginRun(
      client,
      { name: this.#name, defaults, limits, check },
      this.#patience(name !== null),
      (text) => progress.say(text),
    );
    if (name === null)
      progress.say(`Run ${this.#name} (--run ${this.#name} goes on with it if this command is stopped)`);
    try {
      await this.#sendAndFollow(begun);
    } catch (error) {
      progress.clear();
      if (jobContinues(error) || exitCodeOf(error) === exitCodes.timedOut) this.#sayHowToComeBack();
      else if (this.#sent.lines > 0 && !this.#isSent)
        progress.say(`${countText(this.#sent.lines)} lines of the file were sent before this.`);
      throw error;
    }
  }

  async #sendAndFollow(begun: Begun): Promise<void> {
    const { client, options, io, file, progress } = this.#parts;
    if (options.sample !== undefined) {
      const { sample, yes } = options;
      const wanted = { name: this.#name, fields: begun.fields, sample, yes, lines: this.#lines };
      const goesOn = await runSample(client, file, wanted, {
        io,
        progress,
        signal: this.#signal,
        deadline: this.#deadline,
        patience: this.#patience(true),
      });
      if (!goesOn)
        return progress.say('Nothing more was sent. The same command without --sample sends the rest.');
    }
    if (options.detach) {
      await this.#send(begun, this.#patience(true));
      return io.out.line(this.#name);
    }
    const failed = new AbortController();
    const stopped = new AbortController();
    const patience = this.#patience(true, AbortSignal.any([this.#signal, stopped.signal]));
    // Either of the two ends the other when it fails.
    const sending = this.#send(begun, patience).catch((error: unknown) => {
      if (!stopped.signal.aborted) failed.abort(error);
    });
    try {
      await this.#follow(failed.signal, patience);
    } finally {
      stopped.abort();
      await sending;
    }
  }

  async #send({ fields }: Begun, patience: Patience): Promise<void> {
    const { client, file } = this.#parts;
    await sendJobs(client, file, { run: this.#name, fields }, patience, this.#sent);
    this.#lines = this.#sent.lines;
    this.#isSent = true;
  }

  /** @param failed aborts when the sending fails. @param sender what the sending waits with. */
  async #follow(failed: AbortSignal, sender: Patience): Promise<void> {
    const { client, options, file, format, progress, destination } = this.#parts;
    const signal = AbortSignal.any([this.#signal, failed]);
    const patience = this.#patience(true, signal);
    const answers = new Answers({ client, run: this.#name, file, format, destination }, patience);
    try {
      const run = await followRun(
        client,
        {
          name: this.#name,
          signal,
          deadline: this.#deadline,
          progress,
          sending: {
            isOver: () => this.#isSent,
            isBlocked: () => sender.isBlocked,
            lines: () => this.#lines,
            sent: () => this.#sent.lines,
          },
          onLook: () => answers.writeEnded(),
        },
        patience,
      );
      if (run === null)
        throw new CommandFailure(
          exitCodes.timedOut,
          `run ${this.#name} had not ended after ${options.waitSeconds} s; it continues`,
        );
      await answers.finish();
      this.#end(run, answers.tally);
    } finally {
      await answers.discard();
    }
  }

  /** Say how it ended. @throws CommandFailure unless every line of the file has its answer. */
  #end(run: WireRun, tally: Tally): void {
    const { io, progress, options } = this.#parts;
    progress.clear();
    const all = tally.completed + tally.failed + tally.cancelled + tally.others;
    const parts = [
      `${countText(tally.completed)} of ${countText(all)} lines completed`,
      ...(tally.failed > 0 ? [`${countText(tally.failed)} failed`] : []),
      ...(tally.cancelled > 0 ? [`${countText(tally.cancelled)} cancelled`] : []),
      ...(tally.others > 0 ? [`${countText(tally.others)} not ended`] : []),
    ];
    const sum = parts.join(', ') + (options.output === undefined ? '' : `; answers in ${options.output}`);
    if (run.counts.pending > 0) io.err.lines(pauseLines(run));
    if (tally.failed > 0) io.err.lines(['Failures, and how to send them again:', ...failureLines(run)]);
    if (run.status === 'cancelled') io.err.line(`Run ${run.name} was cancelled.`);
    if (!this.#isSent) io.err.line(`Only ${countText(this.#sent.lines)} lines were sent.`);
    if (tally.completed < all || !this.#isSent) throw new CommandFailure(exitCodes.failed, sum);
    if (io.err.isTerminal) io.err.line(io.err.paint('dim', sum));
  }

  #sayHowToComeBack(): void {
    const { progress, options } = this.#parts;
    const rest = this.#isSent ? '' : ' with the lines that were sent';
    const same = options.run === undefined ? `The same command with --run ${this.#name}` : 'The same command';
    progress.say(`Run ${this.#name} goes on${rest}. ${same} waits for it again and sends only what is new;`);
    progress.say(`svc runs watch ${this.#name} shows it, svc runs cancel ${this.#name} ends it.`);
  }

  #patience(hasAnswered: boolean, signal = this.#signal): Patience {
    return new Patience(signal, (text) => this.#parts.progress.say(text), hasAnswered);
  }
}

function isSmall({ bytes }: Source): boolean {
  return bytes <= checkedBytesMax;
}
