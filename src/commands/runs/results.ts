import { type Command, Option } from 'commander';
import { answerFormatOf, answerFormats } from '../../bulk/answers/index.ts';
import { interruptSignal } from '../../lib/interrupt.ts';
import { createCommand } from '../command.ts';
import { type ConnectionOptions, connect } from '../connection.ts';
import type { Io } from '../io.ts';
import { destinationOf } from './destination.ts';

interface Flags extends ConnectionOptions {
  output?: string;
  outputFormat?: string;
}

/** `svc runs results`: the answers so far, in the order in which the lines were sent. */
export function resultsCommand(io: Io): Command {
  const command = createCommand('results', 'Write the answers of a run, in the order of its lines', [
    'svc runs results review-nov > answers.ndjson',
    'svc runs results review-nov --output answers.csv',
    'svc runs results nightly --output answers.jsonl --output-format openai',
  ])
    .argument('<name>', 'the name of the run, or its id')
    .option(
      '--output <file>',
      'write to this file, which appears when it is complete (default: standard output)',
    )
    .addOption(
      new Option(
        '--output-format <format>',
        'form of the answers (default: by the extension of --output)',
      ).choices(answerFormats.map(({ name }) => name)),
    );
  return command.action(async (name: string) => {
    const flags = command.optsWithGlobals<Flags>();
    const client = await connect(flags, io);
    const destination = await destinationOf({ output: flags.output, follow: false, input: null }, io);
    const format = answerFormatOf(flags.outputFormat, flags.output);
    const signal = interruptSignal();
    const parts = client.exportRunResults(name, format.name, { signal });
    const file = await destination.open();
    try {
      for await (const text of parts) await file.write(text);
      await file.finish();
    } catch (error) {
      await file.discard();
      throw error;
    }
    if (flags.output !== undefined) io.err.line(`The answers of run ${name} are in ${flags.output}`);
  });
}
