import type { Command } from 'commander';
import type { WireQueue } from '../domain/wire/queue.ts';
import { pausedQueueText } from '../domain/wire/queueText.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import { createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { type Io, processIo } from './io.ts';
import { whenText } from './sheet.ts';

interface Flags extends ConnectionOptions {
  reason?: string;
  json?: true;
}

/** `svc pause`: accept jobs and start none until `svc resume`. */
export function pauseCommand(io: Io = processIo()): Command {
  return createCommand('pause', 'Pause the queue: jobs are accepted and wait, running jobs continue', [
    'svc pause --reason "new prices at the provider"',
    'svc pause --json',
  ])
    .option('--reason <text>', 'why, for those who wait; the API and the dashboard show it')
    .option('--json', 'print the JSON of the API')
    .action(async (_options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      show(await (await connect(flags, io)).pauseQueue(flags.reason), flags, io);
    });
}

/** `svc resume`: start waiting jobs again. */
export function resumeCommand(io: Io = processIo()): Command {
  return createCommand('resume', 'Resume the queue: waiting jobs start again', [
    'svc resume',
    'svc resume --json',
  ])
    .option('--json', 'print the JSON of the API')
    .action(async (_options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      show(await (await connect(flags, io)).resumeQueue(), flags, io);
    });
}

function show(queue: WireQueue, { json }: Flags, io: Io): void {
  io.out.line(json ? safeJson(queue) : lineOf(queue));
}

/** It may have been paused before, with another reason. */
function lineOf(queue: WireQueue): string {
  if (!queue.paused) return 'The queue is not paused';
  return `${plainLine(pausedQueueText(queue))} (${whenText(queue.since, Date.now())})`;
}
