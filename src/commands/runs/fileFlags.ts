import { type Command, Option } from 'commander';
import { answerFormats } from '../../bulk/answers/index.ts';
import { formats } from '../../bulk/formats/index.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import type { OutputCheckBody } from '../../domain/wire/run.ts';
import { isFields } from '../../lib/fields.ts';
import { count, dollars, futureTime } from '../command.ts';
import { type ConnectionOptions, connect } from '../connection.ts';
import { CommandFailure, exitCodes } from '../exit.ts';
import type { Io } from '../io.ts';
import { readTextFile } from '../textFile.ts';
import type { LimitFlags } from './beginRun.ts';
import { estimateFile } from './estimate.ts';
import { type FileRunOptions, runFile } from './fileRun.ts';

/** The options of `svc run` that are about files, and those that mean something for a file too. */
export interface FileFlags extends LimitFlags {
  file?: string;
  format?: string;
  promptColumn?: string;
  template?: string;
  idColumn?: string;
  run?: string;
  output?: string;
  outputFormat?: string;
  follow?: true;
  jsonSchema?: string;
  outputRetries?: number;
  estimate?: true;
  sample?: number;
  yes?: true;
  wait?: number;
  json?: true;
  detach?: true;
}

/** Options that need `--file`. */
const fileOnly = [
  'format',
  'promptColumn',
  'template',
  'idColumn',
  'run',
  'output',
  'outputFormat',
  'follow',
  'maxCost',
  'maxFailures',
  'deadline',
  'jsonSchema',
  'outputRetries',
  'estimate',
  'sample',
  'yes',
] as const satisfies readonly (keyof FileFlags)[];

/** Add them to `svc run`. */
export function withFileOptions(command: Command): Command {
  const width = Math.max(...formats.map(({ name }) => name.length));
  const listed = formats.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`);
  command
    .addHelpText('after', `\nFormats of --file:\n${listed.join('\n')}`)
    .option('--file <file>', 'a job for each line or row of a file; - reads standard input')
    .addOption(
      new Option('--format <format>', 'how to read the file (default: by its name and content)').choices(
        formats.map(({ name }) => name),
      ),
    )
    .option('--prompt-column <name>', 'the column of a table that is the prompt (default: prompt)')
    .option('--template <text>', 'a prompt made of columns of a table: "Summarise {{title}}: {{body}}"')
    .option('--id-column <name>', 'the column or field with your id of a line (default: custom_id in JSON)')
    .option('--run <name>', 'make this run or go on with it: lines that it has are not sent again')
    .option(
      '--output <file>',
      'write the answers to this file, which appears when all are there (default: standard output)',
    )
    .addOption(
      new Option(
        '--output-format <format>',
        'form of the answers (default: by the extension of --output)',
      ).choices(answerFormats.map(({ name }) => name)),
    )
    .option('--follow', 'with --output: write each answer as soon as those before it are there');
  return withLimitOptions(command)
    .option(
      '--json-schema <file>',
      'answers must be JSON that matches this schema; others fail as invalid_output',
    )
    .option(
      '--output-retries <n>',
      'with --json-schema: how often such a job runs again (default: 2)',
      count(0),
    )
    .option('--estimate', 'print lines, tokens, cost and time that are to be expected, and send nothing')
    .option('--sample <n>', 'run the first lines, show answers and cost, and ask before the rest', count(1))
    .option('-y, --yes', 'with --sample: do not ask');
}

/** The limits of a run, as `svc run` and `svc runs resume` have them. */
export function withLimitOptions(command: Command): Command {
  return command
    .option('--max-cost <usd>', 'pause the run before it spends more than this many dollars', dollars)
    .option('--max-failures <n>', 'pause the run when this many of its jobs have failed', count(1))
    .option(
      '--deadline <time>',
      'pause the run then: a span such as 90s, 30m, 6h, 2d, or a time',
      futureTime,
    );
}

/**
 * The options of a file; null when no file is named.
 * @throws CommandFailure (usage) for options that do not go together.
 */
export function fileOptions(
  flags: FileFlags & { input?: string },
  command: Command,
): (FileFlags & { file: string }) | null {
  const { file } = flags;
  if (file === undefined) {
    const wrong = fileOnly.find((name) => flags[name] !== undefined);
    if (wrong === undefined) return null;
    const option = command.options.find((one) => one.attributeName() === wrong);
    throw new CommandFailure(exitCodes.usage, `${option?.long} needs --file`);
  }
  const refuse = (text: string): never => {
    throw new CommandFailure(exitCodes.usage, text);
  };
  if (flags.input !== undefined) refuse('--input and --file cannot be used together');
  if (flags.follow && flags.output === undefined) refuse('--follow needs --output');
  if (flags.detach && flags.output !== undefined)
    refuse('--detach does not wait for answers: leave --output out');
  if (flags.json && flags.estimate === undefined && flags.outputFormat !== undefined)
    refuse('--json and --output-format cannot be used together');
  if (flags.outputRetries !== undefined && flags.jsonSchema === undefined)
    refuse('--output-retries needs --json-schema');
  return { ...flags, file };
}

/** What the answers must be. @throws CommandFailure (usage) when the file cannot be used. */
async function checkOf({ jsonSchema, outputRetries }: FileFlags, io: Io): Promise<OutputCheckBody> {
  if (jsonSchema === undefined) return {};
  const text = await readTextFile('--json-schema', jsonSchema, io);
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch {
    throw new CommandFailure(exitCodes.usage, `--json-schema: ${jsonSchema} is not JSON`);
  }
  if (!isFields(schema) && typeof schema !== 'boolean')
    throw new CommandFailure(exitCodes.usage, `--json-schema: ${jsonSchema} is not a JSON Schema`);
  return {
    output_schema: schema,
    ...(outputRetries === undefined ? {} : { output_retries: outputRetries }),
  };
}

/** `svc run --file`. */
export async function runWithFile(
  file: FileFlags & { file: string },
  {
    prompt,
    flags,
    defaults,
  }: { prompt: string | undefined; flags: ConnectionOptions; defaults: DispatchBody },
  io: Io,
): Promise<void> {
  const { promptColumn, template, idColumn } = file;
  const options: FileRunOptions = {
    file: file.file,
    format: file.format,
    read: { prompt, promptColumn, template, idColumn },
    run: file.run,
    defaults,
    check: await checkOf(file, io),
    limits: { maxCost: file.maxCost, maxFailures: file.maxFailures, deadline: file.deadline },
    output: file.output,
    outputFormat: file.outputFormat ?? (file.json ? 'ndjson' : undefined),
    follow: file.follow === true,
    sample: file.sample,
    yes: file.yes === true,
    waitSeconds: file.wait,
    detach: file.detach === true,
  };
  const client = await connect(flags, io);
  if (file.estimate) return estimateFile(client, options, file.json === true, io);
  await runFile(client, options, io);
}
