import type { JobRecord } from '../../src/domain/job.ts';
import type { Change, Decide, Demand, JobChange, Store } from '../../src/store/store.ts';

/** What a watch is told of a store. */
export interface StoreWatch {
  /** Jobs that a commit has begun to change. The returned function is called when it has ended. */
  begin(changes: readonly Change[]): (isDurable: boolean) => void;
  claiming(demand: Demand): void;
  /** A job is offered, and this was made of it. */
  offered(job: JobRecord, lane: string, decision: JobChange | 'skip' | 'close'): void;
}

/** The store with a watch on everything that changes it. */
export function watchedStore(store: Store, watch: StoreWatch): Store {
  return {
    open: () => store.open(),
    close: () => store.close(),
    health: () => store.health(),
    failed: store.failed,
    commit: async (changes) => {
      const all = [...changes];
      const end = watch.begin(all);
      let isDurable = false;
      try {
        const made = await store.commit(all);
        isDurable = true;
        return made;
      } finally {
        end(isDurable);
      }
    },
    job: (id) => store.job(id),
    jobs: (query) => store.jobs(query),
    runningJobs: () => store.runningJobs(),
    delayedJobs: () => store.delayedJobs(),
    jobsOfRun: (runId, page) => store.jobsOfRun(runId, page),
    countOfRun: (runId) => store.countOfRun(runId),
    counts: () => store.counts(),
    pendingByKey: () => store.pendingByKey(),
    backlog: () => store.backlog(),
    archive: (rule, mayLeave) => store.archive(rule, mayLeave),
    archivedJob: (id) => store.archivedJob(id),
    scan: (filter, isArchivedToo) => store.scan(filter, isArchivedToo),
    lanes: () => store.lanes(),
    claim: (demand, decide) => claim(store, watch, demand, decide),
    position: (id) => store.position(id),
    costBuckets: (from, to, dimension) => store.costBuckets(from, to, dimension),
    workers: () => store.workers(),
    keys: () => store.keys(),
    queue: () => store.queue(),
    providers: () => store.providers(),
    runs: () => store.runs(),
    files: () => store.files(),
    annotation: (jobId) => store.annotation(jobId),
    webhooks: () => store.webhooks(),
    audit: (query) => store.audit(query),
    idempotent: (key) => store.idempotent(key),
    idempotencyKeys: (owner) => store.idempotencyKeys(owner),
  };
}

async function claim(store: Store, watch: StoreWatch, demand: Demand, decide: Decide): Promise<JobChange[]> {
  watch.claiming(demand);
  const ends: ((isDurable: boolean) => void)[] = [];
  let isDurable = false;
  try {
    const claimed = await store.claim(demand, (job, lane) => {
      const decision = decide(job, lane);
      watch.offered(job, lane, decision);
      if (typeof decision !== 'string') ends.push(watch.begin([decision]));
      return decision;
    });
    isDurable = true;
    return claimed;
  } finally {
    for (const end of ends) end(isDurable);
  }
}
