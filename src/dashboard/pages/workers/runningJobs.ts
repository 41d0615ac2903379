import type { WireJob } from '../../../domain/wire/job.ts';

/** Whether a job is in the list of a worker's running jobs. */
function runsOn({ status, worker_id }: WireJob, workerId: string): boolean {
  return status === 'running' && worker_id === workerId;
}

/**
 * The running jobs of a worker after an event about any job; the same list when the event does not concern it. Newest
 * start first.
 */
export function withJob(jobs: readonly WireJob[], event: WireJob, workerId: string): readonly WireJob[] {
  const known = jobs.find(({ id }) => id === event.id);
  if (known !== undefined && known.updated_at > event.updated_at) return jobs;
  if (runsOn(event, workerId)) return byStart([event, ...jobs.filter((job) => job !== known)]);
  return known === undefined ? jobs : jobs.filter((job) => job !== known);
}

/** The loaded list, updated with the events since. */
export function merged(
  listed: readonly WireJob[],
  events: readonly WireJob[],
  workerId: string,
): readonly WireJob[] {
  return events.reduce((jobs, event) => withJob(jobs, event, workerId), byStart(listed));
}

function byStart(jobs: readonly WireJob[]): readonly WireJob[] {
  const startOf = (job: WireJob): string => job.attempts.at(-1)?.started_at ?? job.started_at ?? '';
  return [...jobs].sort((a, b) => (startOf(a) < startOf(b) ? 1 : -1));
}
