import { type Command, Option } from 'commander';
import type { Client } from '../../client/client.ts';
import type { RunFilters } from '../../client/runs.ts';
import { errorClasses } from '../../domain/failure.ts';
import { runStatuses } from '../../domain/states.ts';
import type { WireRun, WireRunList } from '../../domain/wire/run.ts';
import { safeJson } from '../../lib/plainText.ts';
import { count, createCommand } from '../command.ts';
import { type ConnectionOptions, connect } from '../connection.ts';
import { type Io, processIo } from '../io.ts';
import { listCommand } from '../list.ts';
import { type LimitFlags, limitsBody } from './beginRun.ts';
import { withLimitOptions } from './fileFlags.ts';
import { resultsCommand } from './results.ts';
import { runSheet, runTable } from './runSheet.ts';
import { countText, pauseLines } from './runText.ts';
import { watchRun } from './watchRun.ts';

/** `svc runs`: runs that `svc run --file` or the API made. */
export function runsCommand(io: Io = processIo()): Command {
  return createCommand(
    'runs',
    'List, show, watch, pause, resume, retry and cancel runs, and write their answers',
    [
      'svc runs list',
      'svc runs status review-nov',
      'svc runs watch review-nov',
      'svc runs results review-nov --output answers.csv',
    ],
  )
    .addCommand(runListCommand(io))
    .addCommand(statusCommand(io))
    .addCommand(resultsCommand(io))
    .addCommand(retryCommand(io))
    .addCommand(changeCommand(io, 'cancel'))
    .addCommand(changeCommand(io, 'pause'))
    .addCommand(resumeCommand(io))
    .addCommand(watchCommand(io));
}

interface ListFlags extends ConnectionOptions, RunFilters {}

function runListCommand(io: Io): Command {
  const command = createCommand('list', 'List runs, newest first', [
    'svc runs list',
    'svc runs list --status running,paused',
    'svc runs list --json',
  ])
    .option('--status <status>', `${runStatuses.join(', ')}; comma-separated`)
    .option('--limit <n>', '1 to 1000 (default: 50)', count(1, 1000))
    .option('--offset <n>', 'how many to skip', count(0));
  return listCommand<WireRunList, WireRun, ListFlags>(io, command, {
    ask: (client, { status, limit, offset }) => client.runs({ status, limit, offset }),
    rows: ({ runs }) => runs,
    none: 'No runs. svc run --file prompts.csv --run <name> makes one.',
    table: runTable,
    remark: ({ runs, total, offset }) => {
      const shown = offset + runs.length;
      return total <= shown
        ? null
        : `${offset + 1} to ${shown} of ${total}; --offset ${shown} shows the next`;
    },
  });
}

function statusCommand(io: Io): Command {
  return runCommandOf(
    io,
    createCommand(
      'status',
      'Show a run: progress, rate, time left, cost, limits, failures and how to retry them',
      ['svc runs status review-nov', 'svc runs status review-nov --json'],
    ),
    {
      act: (client, name) => client.run(name),
      lines: (run) => runSheet(run, io.out, Date.now()),
    },
  );
}

const changes = {
  cancel: {
    description: 'Cancel a run: its jobs that have not ended are cancelled, and it takes no more',
    act: (client: Client, name: string) => client.cancelRun(name),
  },
  pause: {
    description: 'Pause a run: none of its waiting jobs starts, running ones continue',
    act: (client: Client, name: string) => client.pauseRun(name),
  },
} as const;

function changeCommand(io: Io, name: keyof typeof changes): Command {
  const { description, act } = changes[name];
  return runCommandOf(io, createCommand(name, description, [`svc runs ${name} review-nov`]), {
    act,
    lines: changedLines,
  });
}

function resumeCommand(io: Io): Command {
  const command = createCommand('resume', 'Let a paused run go on, or change the limits of a run', [
    'svc runs resume review-nov',
    'svc runs resume review-nov --max-cost 20          after it has reached its limit',
    'svc runs resume review-nov --deadline 12h --max-failures 500',
  ]);
  return runCommandOf(io, withLimitOptions(command), {
    act: (client, name) => client.resumeRun(name, limitsBody(command.optsWithGlobals<LimitFlags>())),
    lines: changedLines,
  });
}

/** What a run is after a change, in a line or two. */
function changedLines(run: WireRun): string[] {
  const { counts } = run;
  const left = counts.pending + counts.running;
  const rest =
    left === 0 ? '' : `, ${countText(counts.running)} running, ${countText(counts.pending)} waiting`;
  return [`${run.name}  ${run.status}${rest}`, ...pauseLines(run).slice(1)];
}

interface RunAct<Answer> {
  act: (client: Client, name: string) => Promise<Answer>;
  /** For people. */
  lines: (answer: Answer) => readonly string[];
}

/** Make `command`, which has its own options, do something with one run. */
function runCommandOf<Answer>(io: Io, command: Command, { act, lines }: RunAct<Answer>): Command {
  return command
    .argument('<name>', 'the name of the run, or its id')
    .option('--json', 'print the JSON of the API')
    .action(async (name: string) => {
      const flags = command.optsWithGlobals<ConnectionOptions & { json?: true }>();
      const answer = await act(await connect(flags, io), name);
      io.out.lines(flags.json ? [safeJson(answer)] : lines(answer));
    });
}

function retryCommand(io: Io): Command {
  const command = createCommand('retry', 'Put the failed jobs of a run back into the queue', [
    'svc runs retry review-nov                     all of them',
    'svc runs retry review-nov --class server_error',
  ]).addOption(
    new Option('--class <class>', 'only jobs that failed so; svc runs status shows the classes').choices(
      errorClasses,
    ),
  );
  return runCommandOf(io, command, {
    act: (client, name) => client.retryRun(name, command.optsWithGlobals<{ class?: string }>().class),
    lines: ({ retried, archived, run }) => [
      `${countText(retried)} ${retried === 1 ? 'job' : 'jobs'} requeued${archived === 0 ? '' : `; ${countText(archived)} are archived and stay as they are`}`,
      ...pauseLines(run),
    ],
  });
}

function watchCommand(io: Io): Command {
  return createCommand('watch', 'Show the progress of a run until it has ended', [
    'svc runs watch review-nov     exits with 0 if all jobs completed, else 1; Ctrl-C leaves the run going',
  ])
    .argument('<name>', 'the name of the run, or its id')
    .action(async (name: string, _options: ConnectionOptions, command: Command) => {
      await watchRun(await connect(command.optsWithGlobals<ConnectionOptions>(), io), name, io);
    });
}
