import { Command } from 'commander';
import { nearest } from '../lib/nearest.ts';
import { version } from '../lib/version.ts';
import { exitCodeHelp, exitCodeOf, exitCodes, explain } from './exit.ts';
import { type Io, processIo } from './io.ts';

const help = `
Environment:
  SVC_COORDINATOR_URL  address of the coordinator, if --url is not given
  SVC_API_KEY          the key, if --key-file is not given
  SVC_CONFIG           the configuration file, instead of svc.config.yaml here
  NO_COLOR             any value: no colours

On the coordinator's own machine you need neither address nor key: svc finds them in its configuration and in the
admin.key file in its data folder. There is no option for the key itself, because other users could read it there.

Examples:
  svc coordinator --with-echo-worker        start a coordinator with an echo worker to try things out
  svc run "Say hello" --provider echo       run one job and print its answer
  svc jobs list --status failed
  svc doctor                                find problems and how to fix them
${exitCodeHelp}`;

/** The whole command line from its commands. Help and errors of usage go where the commands print too. */
export function createProgram(commands: readonly Command[], io: Io = processIo()): Command {
  const program = new Command('svc')
    .description('Job coordinator for language models')
    .version(version, '-V, --version', 'print the version')
    .option('--url <url>', 'address of the coordinator (default: http://127.0.0.1:7420)')
    .option('--key-file <file>', 'file that holds the API key')
    .helpOption('-h, --help', 'print help')
    .addHelpText('after', help);
  for (const command of commands) program.addCommand(command);
  prepare(program, 'svc', io);
  return program;
}

/** Commander would end the process with 1 for wrong usage; and what was meant is in the help of the very command. */
function prepare(command: Command, path: string, io: Io): void {
  command
    .exitOverride()
    .showHelpAfterError(`(${path} --help shows how)`)
    .configureOutput({ writeOut: (text) => io.out.write(text), writeErr: (text) => io.err.write(text) });
  if (command.commands.length > 0) refuseUnknown(command);
  for (const child of command.commands) prepare(child, `${path} ${child.name()}`, io);
}

/**
 * A word that is no command of the group is wrong usage, also where help is asked for with it: Commander would show the
 * group's help then and call that a success.
 */
function refuseUnknown(group: Command): void {
  const names = group.commands.map((command) => command.name());
  const refuse = (word: string): never => {
    const near = nearest(word, names);
    const help = near === null ? `the commands are: ${names.join(', ')}` : `did you mean ${near}?`;
    return group.error(`error: unknown command '${word}'; ${help}`, { code: 'commander.unknownCommand' });
  };
  group.on('command:*', ([word = '']: string[]) => refuse(word));
  group.addHelpText('before', () => {
    const word = group.args.find((argument) => argument !== 'help');
    return word === undefined || word.startsWith('-') || names.includes(word) ? '' : refuse(word);
  });
}

/** Parse the arguments (without node and script), run one command, and say on standard error what went wrong. */
export async function runProgram(program: Command, args: readonly string[], io: Io): Promise<number> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    const text = explain(error);
    if (text !== null) io.err.line(`${io.err.paint('red', 'error:')} ${text}`);
    return exitCodeOf(error);
  }
}
