/* How jobs leave memory for the archive: stored there first, then removed by a commit. Owns the choice of jobs. A crash
   between the two leaves a job in both places, where memory counts. */

import { StoreUnavailable } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import { endedAt } from '../changes/apply.ts';
import type { DurableLog, Staged } from '../durableLog.ts';
import type { ArchiveRule } from '../store.ts';
import { OutcomeUnknown } from '../storeErrors.ts';
import type { Batch } from './batch.ts';
import type { Commits } from './commits.ts';
import type { JobIndex } from './index/jobIndex.ts';

/** Jobs checked between two turns of the event loop: about 1 ms. */
const offersPerTurn = 500;

/** The source and the destination of leaving jobs. */
export interface LeavePlaces {
  /** Epoch ms. */
  now: number;
  jobs: JobIndex;
  commits: Commits;
  log: DurableLog;
}

/**
 * Move jobs to the archive: they are made durable there, then one record removes them from memory. A crash in between
 * leaves them in both, and what memory has does not count as archived. Only within `log.alone`.
 * @returns how many. @throws StoreUnavailable; all of them stay then.
 */
export async function leaveForArchive(
  places: LeavePlaces,
  rule: ArchiveRule,
  mayLeave: (job: JobRecord) => boolean,
): Promise<number> {
  const { commits, log } = places;
  assertWritable(commits);
  const batch = commits.begin();
  let left: JobRecord[];
  let staged: Staged;
  try {
    left = await pick(places, batch, rule, mayLeave);
    if (left.length === 0) return 0;
    staged = await log.archive(left);
  } catch (error) {
    batch.abandon();
    throw error;
  }
  try {
    await batch.commit();
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) staged.drop();
    throw error;
  }
  await staged.keep();
  return left.length;
}

/**
 * The archived lines of a refused commit are dropped before the next jobs are written. That must wait until the log no
 * longer has its record, which the next successful commit shows.
 */
function assertWritable(commits: Commits): void {
  commits.assertOpen();
  if (commits.problem !== null) throw new StoreUnavailable(commits.problem.detail);
}

/** The jobs that leave, the first ended first; the batch holds them. */
async function pick(
  { jobs, now }: LeavePlaces,
  batch: Batch,
  rule: ArchiveRule,
  mayLeave: (job: JobRecord) => boolean,
): Promise<JobRecord[]> {
  const picked: JobRecord[] = [];
  let offers = 0;
  for (const job of jobs.ended(now)) {
    const isDue = endedAt(job) < rule.endedBefore || jobs.endedCount - picked.length > rule.keep;
    if (!isDue || picked.length >= rule.limit) break;
    const staysUntil = rule.staysUntil?.(job) ?? 0;
    if (staysUntil > now) {
      jobs.setAside(job, staysUntil);
    } else if (batch.mayLeave(job) && mayLeave(job)) {
      batch.leave(job);
      picked.push(job);
    }
    offers += 1;
    if (offers % offersPerTurn === 0) await nextTurn();
  }
  return picked;
}
