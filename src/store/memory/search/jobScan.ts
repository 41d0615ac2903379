/* Every job that a filter includes, in memory and in the archive, each once, even if it is archived meanwhile. Reads
   only. */

import type { JobRecord } from '../../../domain/job.ts';
import type { DurableLog } from '../../durableLog.ts';
import type { JobFilter } from '../../store.ts';
import type { Memory } from '../memory.ts';
import { filterJobs, passing, type Scan, wholeTestOf } from './jobSearch.ts';

/**
 * Every job that the filter includes, newest first, then the archived ones. A job archived meanwhile is visited only
 * once. Memory is bounded by a batch and by what is archived meanwhile.
 */
export async function* scanJobs(
  memory: Memory,
  log: DurableLog,
  filter: JobFilter,
  isArchivedToo: boolean,
): AsyncGenerator<JobRecord[]> {
  const scan: Scan = { below: 0, archived: new Set() };
  // Before the first batch: an invalid filter is reported at once.
  const test = wholeTestOf(memory.jobs, filter);
  memory.scans.add(scan);
  try {
    yield* filterJobs(memory.jobs, filter, scan);
    if (!isArchivedToo) return;
    for await (const batch of log.archived(filter.createdAfter)) {
      const isNew = ({ id, ordinal }: JobRecord) => !scan.archived.has(ordinal) && !memory.jobs.has(id);
      const found = await passing(batch.filter(isNew), test);
      if (found.length > 0) yield found;
    }
  } finally {
    memory.scans.delete(scan);
  }
}
