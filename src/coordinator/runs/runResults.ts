import type { JobRecord } from '../../domain/job.ts';
import { noFilter } from '../../domain/jobFilter.ts';
import { jobsOf, type RunRecord } from '../../domain/run.ts';
import type { Store } from '../../store/store.ts';
import { jobIdOf } from './lineId.ts';

/** Jobs of a page: some 2 ms of work for those who present them. */
const pageSize = 200;

/**
 * Every job of a run in the order in which its lines were sent, archived ones included, in batches; each in its state at that
 * time. @throws StoreUnavailable when the archive cannot be read.
 */
export async function* jobsInOrder(store: Store, { id, totals }: RunRecord): AsyncGenerator<JobRecord[]> {
  if (jobsOf(totals) > (await store.countOfRun(id))) {
    yield* withArchived(store, id);
    return;
  }
  for (let after = 0; ; ) {
    const jobs = await store.jobsOfRun(id, { state: null, after, limit: pageSize });
    const last = jobs[jobs.length - 1];
    if (last === undefined) return;
    yield jobs;
    after = last.ordinal;
  }
}

/** The archive has another order: the ids are sorted first, some 100 bytes a job. */
async function* withArchived(store: Store, runId: string): AsyncGenerator<JobRecord[]> {
  const places: { id: string; ordinal: number }[] = [];
  for await (const jobs of store.scan({ ...noFilter, run: runId }, true)) {
    for (const { id, ordinal } of jobs) places.push({ id, ordinal });
  }
  places.sort((a, b) => a.ordinal - b.ordinal);
  for (let from = 0; from < places.length; from += pageSize) {
    const page = places.slice(from, from + pageSize);
    const jobs = await Promise.all(page.map(({ id }) => jobOf(store, id)));
    yield jobs.filter((job) => job !== undefined);
  }
}

/** The job of a line; undefined when the run does not have the line. @throws StoreUnavailable. */
export function jobOfLine(store: Store, run: RunRecord, lineId: string): Promise<JobRecord | undefined> {
  return jobOf(store, jobIdOf(run.id, lineId));
}

async function jobOf(store: Store, id: string): Promise<JobRecord | undefined> {
  return (await store.job(id)) ?? store.archivedJob(id);
}
