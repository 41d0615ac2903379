import type { Command } from 'commander';
import { ownCommand } from '../lib/ownCommand.ts';
import { plainText, safeJson } from '../lib/plainText.ts';
import type { Colour, Screen } from '../lib/screen.ts';
import type { CheckupOptions } from './checkup.ts';
import { collect, createCommand } from './command.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Finding } from './finding.ts';
import { type Io, processIo } from './io.ts';

interface Flags extends CheckupOptions {
  json?: true;
}

/** `svc doctor`: finds problems between this machine and a job's answer, with a fix for each. */
export function doctorCommand(io: Io = processIo()): Command {
  return createCommand('doctor', 'Find problems and print how to fix each', [
    'svc doctor',
    'svc doctor --config /etc/svc.config.yaml',
    'svc doctor --provider ollama --provider openai',
    'svc doctor --url https://svc.example --key-file ~/.svc.key --json',
  ])
    .option('--config <file>', 'configuration file (default: as for svc coordinator)')
    .option(
      '--provider <name>',
      'a provider to check in addition to the configured ones; repeatable',
      collect,
    )
    .option('--json', 'print the findings as JSON')
    .action(async (_options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      // It also checks providers, with the adapters and their SDKs.
      const { checkup } = await import('./checkup.ts');
      const own = ownCommand(io);
      const findings = (await checkup(flags, io)).map((finding) => ({
        ...finding,
        fix: finding.fix?.replace(/^((?:\w+=\S+ )*)svc(?= )/, `$1${own}`) ?? null,
      }));
      const faults = findings.filter(({ level }) => level === 'fault').length;
      if (flags.json) io.out.line(safeJson({ ok: faults === 0, findings }));
      else io.out.lines(findings.flatMap((finding) => findingLines(finding, io.out)));
      if (faults > 0)
        throw new CommandFailure(exitCodes.failed, `${faults} ${faults === 1 ? 'fault' : 'faults'} found`);
    });
}

const marks: Record<Finding['level'], { mark: string; colour: Colour }> = {
  ok: { mark: 'ok   ', colour: 'green' },
  warning: { mark: 'warn ', colour: 'yellow' },
  fault: { mark: 'FAULT', colour: 'red' },
};

const indent = ' '.repeat(22);

function findingLines({ level, title, detail, fix }: Finding, screen: Screen): string[] {
  const { mark, colour } = marks[level];
  const [first = '', ...rest] = plainText(detail).split('\n');
  return [
    `${screen.paint(colour, mark)}  ${title.padEnd(13)}  ${first}`,
    ...rest.map((line) => indent + line),
    ...(fix === null ? [] : [`${indent}${screen.paint('bold', 'fix:')} ${fix}`]),
  ];
}
