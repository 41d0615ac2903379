import type { Command } from 'commander';
import { bulkFilter, type Client, type JobFilters } from '../client/client.ts';
import type { WireJobList } from '../domain/wire/job.ts';
import { safeJson } from '../lib/plainText.ts';
import { createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { findJobId } from './findJob.ts';
import type { Io } from './io.ts';
import { type FilterFlags, filtersOf, hasFilter, withFilters } from './jobFilters.ts';
import { statusText } from './jobText.ts';

interface Flags extends ConnectionOptions, FilterFlags {
  json?: true;
  dryRun?: true;
}

const changes = {
  cancel: {
    description: 'Cancel jobs that have not ended, by id or by filter',
    past: 'cancelled',
    /** States of jobs that can be changed: `--dry-run` counts them unless the filters name others. */
    states: 'pending.ready,pending.delayed,running.active,running.stuck',
    one: (client: Client, id: string) => client.cancel(id),
    many: (client: Client, filters: JobFilters) => client.cancelMany({ filter: bulkFilter(filters) }),
  },
  retry: {
    description: 'Put failed or stuck jobs back into the queue, by id or by filter',
    past: 'requeued',
    states: 'failed,running.stuck',
    one: (client: Client, id: string) => client.retry(id),
    many: (client: Client, filters: JobFilters) => client.retryMany({ filter: bulkFilter(filters) }),
  },
} as const;

type Change = (typeof changes)[keyof typeof changes];

/** `svc jobs cancel` and `svc jobs retry`: jobs by their ids, or all that match filters. */
export function changeCommand(io: Io, name: keyof typeof changes): Command {
  const change = changes[name];
  const command = createCommand(name, change.description, [
    `svc jobs ${name} 4be1c0aa 90d2f3b1`,
    `svc jobs ${name} --provider openai --since 2h`,
    `svc jobs ${name} --metadata customer=acme --dry-run     print how many would change`,
  ]).argument('[id...]', 'ids, or parts of ids that no other job has');
  return withFilters(command)
    .option('--dry-run', 'with filters: print how many jobs match, change none')
    .option('--json', 'print the JSON of the API, one document per job, or the totals')
    .action(async (refs: string[]) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const filters = await filtersOf(flags, client);
      if (refs.length > 0 === hasFilter(filters))
        throw new CommandFailure(
          exitCodes.usage,
          `give either ids or filters such as --tag (svc jobs ${name} --help)`,
        );
      if (refs.length > 0) return changeNamed(client, change, refs, flags, io);
      if (flags.dryRun) return countChosen(client, change, filters, io);
      await changeChosen(client, change, filters, flags, io);
    });
}

async function changeNamed(client: Client, change: Change, refs: readonly string[], { json }: Flags, io: Io) {
  for (const ref of refs) {
    const job = await change.one(client, await findJobId(client, ref));
    io.out.line(json ? safeJson(job) : `${job.id}  ${statusText(job)}`);
  }
}

/** The jobs that match the filters and can be changed now. */
function chosen(client: Client, { states }: Change, filters: JobFilters): Promise<WireJobList> {
  const state = filters.state ?? (filters.status === undefined ? states : undefined);
  return client.jobs({ ...filters, state, limit: 1 });
}

async function countChosen(client: Client, change: Change, filters: JobFilters, io: Io): Promise<void> {
  const { total, total_capped: isCapped } = await chosen(client, change, filters);
  io.out.line(`${isCapped ? 'more than ' : ''}${jobs(total)} would be ${change.past}`);
}

/** The API changes up to 1,000 jobs at a time. Jobs created meanwhile are not changed. */
async function changeChosen(
  client: Client,
  change: Change,
  filters: JobFilters,
  { json }: Flags,
  io: Io,
): Promise<void> {
  const {
    jobs: [newest],
    total,
    total_capped: isCapped,
  } = await chosen(client, change, filters);
  const sums = { changed: 0, refused: 0 };
  let hasMore = newest !== undefined;
  // A retried job may fail again at once: without the total it would be retried for ever.
  while (hasMore && (isCapped || sums.changed < total)) {
    const answer = await change.many(client, { ...filters, newest: newest?.id });
    sums.changed += answer.changed;
    sums.refused += answer.refused_count;
    hasMore = answer.has_more && answer.changed > 0;
    if (hasMore && io.err.isTerminal) io.err.line(`${jobs(sums.changed)} ${change.past} so far`);
  }
  if (json) return io.out.line(safeJson(sums));
  const rest = sums.refused > 0 ? `, ${jobs(sums.refused)} had changed in the meantime` : '';
  io.out.line(`${jobs(sums.changed)} ${change.past}${rest}`);
}

function jobs(count: number): string {
  return `${count} ${count === 1 ? 'job' : 'jobs'}`;
}
