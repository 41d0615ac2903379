import type { Command } from 'commander';
import type { Client, JobFilters } from '../client/client.ts';
import { innerStates, jobStatuses } from '../domain/states.ts';
import { isUuid } from '../lib/uuid.ts';
import { collect, collectPair, pastTime, searchText } from './command.ts';
import { findWorkerId } from './findWorker.ts';

/** The filters of jobs on the command line. */
export interface FilterFlags {
  status?: string;
  state?: string;
  provider?: string;
  model?: string;
  worker?: string;
  run?: string;
  createdBy?: string;
  tag?: string[];
  priority?: string;
  tier?: string;
  metadata?: string[];
  query?: string;
  since?: string;
  until?: string;
}

/** Add the filter options to `command`. */
export function withFilters(command: Command): Command {
  return command
    .option('--status <status>', `${jobStatuses.join(', ')}; comma-separated`)
    .option('--state <state>', `${innerStates.join(', ')}; comma-separated`)
    .option('--provider <name>', 'as the job asked for it')
    .option('--model <name>', 'as the job asked for it')
    .option('--worker <worker>', 'name or id of the worker that runs or ran it')
    .option('--run <name>', 'name of the run that it belongs to')
    .option('--created-by <key>', 'id of the key that sent it, as svc keys list shows it')
    .option('--tag <label>', 'a tag of the job; repeatable', collect)
    .option('--priority <label>', 'priority of the job')
    .option('--tier <label>', 'tier of the job')
    .option('--metadata <name=value>', 'an entry of the metadata; repeatable', collectPair)
    .option('--query <text>', 'text in the prompt or the id, up to 200 characters', searchText)
    .option(
      '--since <time>',
      'created then or later, such as 2h (ago), 2026-11-21 or 2026-11-21T09:00:00Z',
      pastTime,
    )
    .option('--until <time>', 'created before then; the same formats', pastTime);
}

/** The same for the client. @throws CommandFailure (refused) when no worker has the name; as the client does. */
export async function filtersOf(flags: FilterFlags, client: Client): Promise<JobFilters> {
  const {
    status,
    state,
    provider,
    model,
    worker,
    run,
    createdBy,
    tag,
    priority,
    tier,
    metadata,
    query,
    since,
    until,
  } = flags;
  // A forgotten worker is in no list any more; its jobs are.
  const workerId = worker === undefined || isUuid(worker) ? worker : await findWorkerId(client, worker);
  const plain = { status, state, provider, model, run, createdBy, priority, tier };
  const times = { createdAfter: since, createdBefore: until };
  return { ...plain, worker: workerId, tags: tag, metadata, q: query, ...times };
}

/** Whether any filter is set. */
export function hasFilter(filters: JobFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}
