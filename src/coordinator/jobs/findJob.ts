import { jobNotFound } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { Store } from '../../store/store.ts';

/** A job, also one that was archived. @throws CoordinatorError job_not_found; StoreUnavailable. */
export async function findJob(store: Store, id: string): Promise<JobRecord> {
  const job = (await store.job(id)) ?? (await store.archivedJob(id));
  if (job === undefined) throw jobNotFound(id);
  return job;
}
