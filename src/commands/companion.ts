import type { Command } from 'commander';
import { count, createCommand } from './command.ts';
import { type Io, processIo } from './io.ts';

export interface CompanionFlags {
  open: boolean;
  port?: number;
  install?: true;
  uninstall?: true;
  purge?: true;
  json?: true;
}

/** `svc companion`: a window that connects this machine to a coordinator and runs its worker. */
export function companionCommand(io: Io = processIo()): Command {
  const parts = () => import('./runCompanion.ts');
  const command = createCommand(
    'companion',
    'Run a worker of this machine, with a window to set it up and watch it',
    [
      'svc companion                   open the window; asks for address and key the first time',
      'svc companion --no-open         without a window, such as on a machine without a screen',
      'svc companion --install         start at login; prints what it writes',
      'svc companion --uninstall --purge',
      'svc companion status',
      'svc companion stop',
    ],
  )
    .option('--no-open', 'open no window; print a link that works once')
    .option('--port <port>', 'port of the page on 127.0.0.1 (default: any)', count(0, 65_535))
    .option('--install', 'start the companion at login')
    .option('--uninstall', 'no longer start it at login')
    .option('--purge', 'with --uninstall: also remove the settings with the key, and the log')
    .action(async (flags: CompanionFlags) => (await parts()).runCompanion(flags, io));
  const statusCommand = createCommand('status', 'Show what the running companion and its worker do', [
    'svc companion status',
    'svc companion status --json',
  ])
    .option('--json', 'print JSON')
    .action(async (flags: CompanionFlags) => (await parts()).showCompanion(flags, io));
  const openCommand = createCommand('open', 'Open the window of the running companion', [
    'svc companion open',
    'svc companion open --no-open    print a link that works once',
  ])
    .option('--no-open', 'print a link that works once')
    // The command above it has the option too, and takes it.
    .action(async (_flags: CompanionFlags, self: Command) =>
      (await parts()).openCompanion(self.optsWithGlobals<CompanionFlags>(), io),
    );
  const stopCommand = createCommand(
    'stop',
    'Stop the running companion; its worker finishes its jobs for up to 30 s',
    ['svc companion stop'],
  ).action(async () => (await parts()).stopCompanion(io));
  return command.addCommand(statusCommand).addCommand(openCommand).addCommand(stopCommand);
}
