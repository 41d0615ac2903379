import type { JobRecord } from '../domain/job.ts';
import { historyOf } from '../domain/jobHistory.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireJobHistory } from '../domain/wire/job.ts';

/** The states of a job so far, for the API. */
export function presentHistory(job: JobRecord): WireJobHistory {
  const { entries, isTruncated } = historyOf(job);
  return {
    job_id: job.id,
    state: job.state,
    entries: entries.map(({ at, ...rest }) => ({ at: iso(at), ...rest })),
    truncated: isTruncated,
  };
}
