import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import type { DispatchBody, WireJob } from '../domain/wire/job.ts';
import { interruptSignal } from '../lib/interrupt.ts';
import { plainLine, plainText, safeJson } from '../lib/plainText.ts';
import { startSpinner } from '../lib/spinner.ts';
import { collect, createCommand, seconds } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes, jobContinues } from './exit.ts';
import { type Io, processIo } from './io.ts';
import { costText, nowText, ranBy, ranMs, spanText, statusText, tokensOf } from './jobText.ts';
import { LiveOutput } from './liveOutput.ts';
import { type FileFlags, fileOptions, runWithFile, withFileOptions } from './runs/fileFlags.ts';
import { readTextFile } from './textFile.ts';

interface Flags extends ConnectionOptions, FileFlags {
  provider?: string;
  model?: string;
  input?: string;
  priority?: string;
  tier?: string;
  tag?: string[];
  param?: string[];
  timeout?: number;
}

const examples = [
  'svc run "Say hello" --provider echo                             on a terminal the output appears as it is generated',
  'svc run "Summarise this" --provider ollama --model llama3.2 --input @minutes.md',
  'git diff | svc run "Write a commit message" --input - --tag git --priority high',
  'svc run "Name ten rivers" --param temperature=0.2 --param max_tokens=200 --json',
  'svc run "Translate the manual" --input @manual.txt --detach     prints the id and returns',
  'svc run --file prompts.txt --provider echo > answers.ndjson     one job per line, one JSON line per answer, in order',
  'svc run --file docs.csv --run docs --id-column id --template "Summarise {{title}}: {{body}}" --output answers.csv',
  'svc run --file docs.csv --template "Summarise {{body}}" --model gpt-5-mini --estimate',
  'svc run --file batch.jsonl --run nightly --max-cost 5 --deadline 6h --output answers.jsonl --output-format openai',
  'svc run "Be quick" --wait 30                                    exits with 124 if it takes longer; the job keeps running',
];

/** `svc run`: one job from the prompt to the output, or one for each line of a file. */
export function runCommand(io: Io = processIo()): Command {
  const command = createCommand(
    'run',
    'Dispatch a job or a file of jobs, wait for the end, print the output',
    examples,
  )
    .argument('[prompt]', 'what the model should do; with --file, the prompt of every line without one')
    .option('--provider <name>', 'the provider that must run it (default: routing decides)')
    .option('--model <name>', 'a model of the provider')
    .option('--input <text>', 'what the prompt is about; @file reads a file, - reads standard input')
    .option('--priority <label>', 'critical, high, normal, low, background, or as configured')
    .option('--tier <label>', 'a label for routing rules')
    .option('--tag <label>', 'a label for routing rules and lists; repeatable', collect)
    .option('--param <name=value>', 'passed to the provider; the value may be JSON; repeatable', collect)
    .option('--timeout <seconds>', 'fail the job if it runs longer; 0: never', seconds)
    .option(
      '--wait <seconds>',
      'wait no longer than this; the job keeps running (default: until it ends)',
      seconds,
    )
    .option('--json', 'print the whole job as JSON instead of the output; with --estimate, its figures')
    .option('--detach', 'do not wait: print the id, or with --file the name of the run');
  return withFileOptions(command).action(async (prompt: string | undefined) => {
    const flags = command.optsWithGlobals<Flags>();
    const file = fileOptions(flags, command);
    if (file !== null) return runWithFile(file, { prompt, flags, defaults: await bodyOf(flags, io) }, io);
    if (prompt === undefined)
      throw new CommandFailure(exitCodes.usage, 'give a prompt or --file; svc run --help shows how');
    const body = { prompt, ...(await bodyOf(flags, io)) };
    const client = await connect(flags, io);
    // The key makes a repeated request harmless, in case a proxy sends it twice.
    const job = await client.dispatch(body, { idempotencyKey: randomUUID() });
    if (flags.detach) return io.out.line(flags.json ? safeJson(job) : job.id);
    await follow(client, job, flags, io);
  });
}

/** A job without its prompt. */
async function bodyOf(flags: Flags, io: Io): Promise<DispatchBody> {
  const { provider, model, priority, tier, tag, timeout } = flags;
  const input = flags.input === undefined ? undefined : await readInput(flags.input, io);
  return {
    ...(input === undefined ? {} : { input }),
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(priority === undefined ? {} : { priority }),
    ...(tier === undefined ? {} : { tier }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(flags.param === undefined ? {} : { params: Object.fromEntries(flags.param.map(readParam)) }),
    ...(timeout === undefined ? {} : { timeout_seconds: timeout }),
  };
}

async function readInput(given: string, io: Io): Promise<string> {
  if (given === '-') return readTextFile('--input', given, io);
  return given.startsWith('@') ? readTextFile('--input', given.slice(1), io) : given;
}

function readParam(given: string): [string, unknown] {
  const split = given.indexOf('=');
  if (split < 1)
    throw new CommandFailure(exitCodes.usage, `--param must be name=value, not ${JSON.stringify(given)}`);
  const text = given.slice(split + 1);
  try {
    return [given.slice(0, split), JSON.parse(text)];
  } catch {
    return [given.slice(0, split), text];
  }
}

async function follow(client: Client, dispatched: WireJob, flags: Flags, io: Io): Promise<void> {
  const { id } = dispatched;
  const spinner = startSpinner(io.err, line(dispatched));
  // A pipe only gets the final answer, never the start of an attempt that fails later.
  const live = io.out.isTerminal && !flags.json ? new LiveOutput(io, spinner) : null;
  if (!io.err.isTerminal && needsIntervention(dispatched))
    io.err.line(`job ${id} waits: ${plainLine(nowText(dispatched, Date.now()))}`);
  const options = { timeoutSeconds: flags.wait, signal: interruptSignal(), isKnown: true };
  let job: WireJob;
  try {
    job =
      io.err.isTerminal || live !== null
        ? await client.follow(id, {
            ...options,
            onUpdate: (now) => spinner.say(line(now)),
            onOutput: (part) => live?.add(part),
          })
        : await client.waitFor(id, options);
  } catch (error) {
    spinner.stop();
    live?.endLine();
    if (jobContinues(error)) {
      io.err.line(`Job ${id} keeps running: svc jobs get ${id} shows it, svc jobs cancel ${id} cancels it.`);
    }
    throw error;
  }
  spinner.stop();
  if (flags.json) io.out.line(safeJson(job));
  else if (job.status !== 'completed') live?.endLine();
  else if (live !== null) live.complete(job.result?.output ?? '');
  else printOutput(job, io);
  if (job.status !== 'completed') throw new CommandFailure(exitCodes.failed, endText(job));
  if (io.err.isTerminal && !flags.json) io.err.line(io.err.paint('dim', receipt(job)));
}

/** Whether it waits for an intervention: a script that hangs must say why. */
function needsIntervention({ waiting }: WireJob): boolean {
  return waiting !== null && ['no_worker', 'workers_paused', 'concurrency_zero'].includes(waiting.reason);
}

function line(job: WireJob): string {
  const rest = nowText(job, Date.now());
  return rest === '' ? statusText(job) : `${statusText(job)}: ${rest}`;
}

/** The output of a job: unchanged for a program, harmless for a terminal. */
export function printOutput(job: WireJob, { out }: Io): void {
  const output = job.result?.output ?? '';
  const text = out.isTerminal ? plainText(output) : output;
  out.write(text.endsWith('\n') ? text : `${text}\n`);
}

function endText({ id, status, error }: WireJob): string {
  const why = error === null ? '' : `: ${plainLine(error.message)}`;
  return `job ${id} ${status === 'failed' ? 'failed' : `was ${status}`}${why}`;
}

function receipt(job: WireJob): string {
  const { input, output } = tokensOf(job);
  const { provider, model } = ranBy(job);
  const ran = [provider, model].filter((name) => name !== null && name !== provider).join(' ');
  const by = plainLine(ran === '' ? (provider ?? '') : `${provider} ${ran}`);
  return `${by} · ${input} tokens in, ${output} out · ${costText(job)} · ${spanText(ranMs(job, Date.now()))} · ${job.id}`;
}
