import type { JobRecord } from '../domain/job.ts';
import { historyOf } from '../domain/jobHistory.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireJobHistory } from '../domain/wire/job.ts';

/** The states that a job went through, as the API shows them. */
export function presentHistory(job: JobRecord): WireJobHistory {
  const { entries, isTruncated } = historyOf(job);
  return {
    job_id: job.id,
    state: job.state,
    entries: entries.map(({ at, ...rest }) => ({ at: iso(at), ...rest })),
    truncated: isTruncated,
  };
}
