import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { messageOf } from '../domain/errors.ts';
import type { WireJob } from '../domain/wire/job.ts';
import { type Cell, csvLine } from '../lib/csv.ts';
import { plainText, safeJson } from '../lib/plainText.ts';
import { createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';
import { type FilterFlags, filtersOf, withFilters } from './jobFilters.ts';
import { ranBy, tokensOf } from './jobText.ts';

interface ExportFlags extends ConnectionOptions, FilterFlags {
  archived?: true;
  format: 'ndjson' | 'csv';
  output?: string;
}

/** `svc jobs export`: every job that matches, to standard output or to a file. */
export function exportCommand(io: Io): Command {
  const command = createCommand('export', 'Write jobs as NDJSON or CSV, newest first', [
    'svc jobs export --since 2026-11-01 --archived > november.ndjson',
    'svc jobs export --status failed --format csv --output failed.csv',
    'svc jobs export --state running.stuck',
    "svc jobs export | jq -r '.result.output'",
  ]);
  return withFilters(command)
    .option('--archived', 'include archived jobs, after the others')
    .addOption(
      new Option('--format <format>', 'ndjson has everything; csv is for tables')
        .choices(['ndjson', 'csv'])
        .default('ndjson'),
    )
    .option('--output <file>', 'write to this file, readable only by you (default: standard output)')
    .action(async (_options: ExportFlags, command: Command) => {
      const flags = command.optsWithGlobals<ExportFlags>();
      const client = await connect(flags, io);
      const filters = await filtersOf(flags, client);
      const count = await write(client.exportJobs({ ...filters, archived: flags.archived }), flags, io);
      if (flags.output !== undefined)
        io.err.line(`${count} ${count === 1 ? 'job' : 'jobs'} in ${flags.output}`);
    });
}

/** @returns how many jobs were written. @throws CommandFailure when the file cannot be written; as the client does. */
async function write(jobs: AsyncIterable<WireJob>, { format, output }: ExportFlags, io: Io): Promise<number> {
  let count = 0;
  const isForPeople = output === undefined && io.out.isTerminal;
  const toText = format === 'csv' ? csvText : jsonText;
  async function* texts(): AsyncGenerator<string> {
    if (format === 'csv') yield csvLine(Object.keys(columns));
    for await (const job of jobs) {
      count += 1;
      yield isForPeople ? plainText(toText(job)) : toText(job);
    }
  }
  if (output === undefined) {
    await pipeline(texts, io.stdout, { end: false });
    return count;
  }
  const file = createWriteStream(resolve(io.cwd, output), { mode: 0o600 });
  let fileError: Error | null = null;
  file.once('error', (error) => {
    fileError = error;
  });
  try {
    await pipeline(texts, file);
  } catch (error) {
    if (fileError === null || error !== fileError) {
      io.err.line(`${output} contains only a part of the jobs.`);
      throw error;
    }
    throw new CommandFailure(exitCodes.failed, `${output} cannot be written: ${messageOf(error)}`);
  }
  return count;
}

function jsonText(job: WireJob): string {
  return `${safeJson(job, 0)}\n`;
}

/** Whether any worker has reported tokens: unknown is not 0. */
function hasUsage({ attempts }: WireJob): boolean {
  return attempts.some(({ usage }) => usage !== null);
}

function csvText(job: WireJob): string {
  return csvLine(Object.values(columns).map((value) => value(job)));
}

/** The columns: header and cell. */
const columns: Record<string, (job: WireJob) => Cell> = {
  id: ({ id }) => id,
  status: ({ status }) => status,
  created_at: ({ created_at }) => created_at,
  created_by: ({ created_by }) => created_by?.key_id ?? null,
  started_at: ({ started_at }) => started_at,
  finished_at: ({ finished_at }) => finished_at,
  provider: (job) => ranBy(job).provider,
  model: (job) => ranBy(job).model,
  worker_id: ({ worker_id }) => worker_id,
  priority: ({ priority }) => priority,
  tier: ({ tier }) => tier,
  tags: ({ tags }) => tags.join(' '),
  attempt_count: ({ attempt_count }) => attempt_count,
  retry_count: ({ retry_count }) => retry_count,
  input_tokens: (job) => (hasUsage(job) ? tokensOf(job).input : null),
  output_tokens: (job) => (hasUsage(job) ? tokensOf(job).output : null),
  cost_usd: ({ cost_usd }) => cost_usd,
  cost_status: ({ cost_status }) => cost_status,
  error: ({ error }) => (error === null ? null : `${error.code}: ${error.message}`),
  prompt: ({ prompt, messages }) => prompt ?? JSON.stringify(messages),
  input: ({ input }) => input ?? null,
  output: ({ result }) => result?.output ?? null,
};
