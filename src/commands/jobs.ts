import type { Command } from 'commander';
import type { WireJob, WireJobList } from '../domain/wire/job.ts';
import { safeJson } from '../lib/plainText.ts';
import { count, createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { findJobId } from './findJob.ts';
import { type Io, processIo } from './io.ts';
import { changeCommand } from './jobChange.ts';
import { exportCommand } from './jobExport.ts';
import { type FilterFlags, filtersOf, withFilters } from './jobFilters.ts';
import { jobSheet } from './jobSheet.ts';
import { jobTable } from './jobTable.ts';
import { statusText } from './jobText.ts';
import { listCommand } from './list.ts';
import { printOutput } from './run.ts';
import { watchJob, watchJobs } from './watch.ts';

interface ListFlags extends ConnectionOptions, FilterFlags {
  json?: true;
  limit?: number;
  offset?: number;
}

interface OneFlags extends ConnectionOptions {
  json?: true;
  output?: true;
}

/** `svc jobs`: show jobs and change them. */
export function jobsCommand(io: Io = processIo()): Command {
  return createCommand('jobs', 'List, show, cancel, retry, watch and export jobs', [
    'svc jobs list --status running',
    'svc jobs get 4be1c0aa',
    'svc jobs watch',
  ])
    .addCommand(jobListCommand(io))
    .addCommand(getCommand(io))
    .addCommand(changeCommand(io, 'cancel'))
    .addCommand(changeCommand(io, 'retry'))
    .addCommand(watchCommand(io))
    .addCommand(exportCommand(io));
}

function jobListCommand(io: Io): Command {
  const command = createCommand('list', 'List jobs, newest first', [
    'svc jobs list',
    'svc jobs list --status failed,cancelled --limit 200',
    'svc jobs list --state running.stuck',
    'svc jobs list --tag invoices --since 2026-11-01',
    'svc jobs list --query rivers --json',
  ]);
  withFilters(command)
    .option('--limit <n>', '1 to 1000 (default: 50)', count(1, 1000))
    .option('--offset <n>', 'how many to skip', count(0));
  return listCommand<WireJobList, WireJob, ListFlags>(io, command, {
    ask: async (client, flags) => {
      const { limit, offset, json } = flags;
      // A program may need the whole prompt; a table shows one line of it.
      const include = json ? (['request'] as const) : undefined;
      return client.jobs({ ...(await filtersOf(flags, client)), include, limit, offset });
    },
    rows: ({ jobs }) => jobs,
    none: 'No jobs.',
    table: jobTable,
    remark: remarkOnRest,
  });
}

function remarkOnRest({ jobs, total, total_capped: isCapped, offset }: WireJobList): string | null {
  const shown = offset + jobs.length;
  if (total <= shown) return null;
  const all = isCapped ? `more than ${total}` : `${total}`;
  return `${offset + 1} to ${shown} of ${all}; --offset ${shown} shows the next`;
}

function getCommand(io: Io): Command {
  return createCommand('get', 'Show a job: its state, result, attempts and route', [
    'svc jobs get 4be1c0aa              the last digits of the id are enough',
    'svc jobs get 4be1c0aa --output     only the output, for a file or a pipe',
    'svc jobs get 4be1c0aa --json',
  ])
    .argument('<id>', 'the id, or a part of it that no other job has')
    .option('--json', 'print the JSON of the API')
    .option('--output', 'print only the output; exit with 5 if there is none')
    .action(async (ref: string, _options: OneFlags, command: Command) => {
      const flags = command.optsWithGlobals<OneFlags>();
      const client = await connect(flags, io);
      const job = await client.job(await findJobId(client, ref));
      if (flags.json) return io.out.line(safeJson(job));
      if (!flags.output) return io.out.lines(jobSheet(job, io.out, Date.now()));
      if (job.result) return printOutput(job, io);
      throw new CommandFailure(exitCodes.refused, `job ${job.id} is ${statusText(job)} and has no output`);
    });
}

function watchCommand(io: Io): Command {
  return createCommand('watch', 'Follow one job to its end, or all jobs until Ctrl-C', [
    'svc jobs watch 4be1c0aa     exits with 0 if it completes, else 1',
    'svc jobs watch              a live list of the newest jobs',
    'svc jobs watch | grep fail  a line for each new change of the newest 200 jobs',
  ])
    .argument('[id]', 'the id, or a part of it that no other job has')
    .action(async (ref: string | undefined, _options: ConnectionOptions, command: Command) => {
      const client = await connect(command.optsWithGlobals<ConnectionOptions>(), io);
      if (ref === undefined) return watchJobs(client, io);
      await watchJob(client, await findJobId(client, ref), io);
    });
}
