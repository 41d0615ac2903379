/* How many jobs are ready, and since when, for figures. No decision uses it. Only in memory, rebuilt at each start. */

import type { JobHead } from '../../../domain/job.ts';
import { SortedList } from '../../../lib/sortedList.ts';
import type { BacklogGroup } from '../../store.ts';

interface Group {
  provider: string;
  priority: string;
  /** major: `enqueuedAt`, minor: the job's ordinal. */
  jobs: SortedList;
}

/** The ready jobs by provider and priority, including those of running commits; for figures, so no claim uses it. */
export class BacklogIndex {
  readonly #groups = new Map<string, Group>();

  /** Add a ready job. */
  add(job: JobHead): void {
    const { priority, target, enqueuedAt } = job.life;
    const key = keyOf(job);
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { provider: target.provider, priority, jobs: new SortedList() };
      this.#groups.set(key, group);
    }
    group.jobs.insert(enqueuedAt, job.ordinal);
  }

  /** Remove a job, unchanged since it was added. */
  remove(job: JobHead): void {
    const key = keyOf(job);
    const group = this.#groups.get(key);
    if (group === undefined) return;
    group.jobs.remove(job.life.enqueuedAt, job.ordinal);
    if (group.jobs.size === 0) this.#groups.delete(key);
  }

  groups(): BacklogGroup[] {
    return [...this.#groups.values()].map(({ provider, priority, jobs }) => ({
      provider,
      priority,
      ready: jobs.size,
      oldestEnqueuedAt: jobs.first()?.major ?? 0,
    }));
  }
}

/** A priority is a label of the configuration, and contains no line break. */
function keyOf({ life }: JobHead): string {
  return `${life.priority}\n${life.target.provider}`;
}
