/* The ready jobs by lane, in claim order. Owns who is first; a job with a running commit is in no lane, so that none is
   assigned twice. Only in memory, rebuilt at each start. */

import { candidatesOf, type JobHead, type JobRecord, laneOf } from '../../../domain/job.ts';
import { Heap } from '../../../lib/heap.ts';
import { type NumberPair, SortedList } from '../../../lib/sortedList.ts';
import type { LaneSummary } from '../../store.ts';

interface Lane {
  key: string;
  /** Of the first job in it: all jobs of a lane have the same strategy, target, chain and run. */
  life: JobHead['life'];
  run: string | null;
  /** major: `enqueuedAt − headStart`, ms; minor: the job's ordinal. */
  ready: SortedList;
}

/** The head of one lane in a claim. */
interface Head extends NumberPair {
  lane: Lane;
}

/**
 * The claimable jobs, by lane, each lane in claim order. A job with a running commit is in no lane. Costs hardly depend
 * on how many jobs wait: see `SortedList`.
 */
export class LaneIndex {
  readonly #lanes = new Map<string, Lane>();
  readonly #headStart: (priority: string) => number;
  /** One value per label for the life of the index: a job must be found where it was inserted. */
  readonly #headStarts = new Map<string, number>();

  /** @param headStart milliseconds that a priority is ahead of its time of arrival. */
  constructor(headStart: (priority: string) => number) {
    this.#headStart = headStart;
  }

  /** Add a ready job. */
  add(job: JobHead): void {
    const key = laneOf(job);
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { key, life: job.life, run: job.run?.runId ?? null, ready: new SortedList() };
      this.#lanes.set(key, lane);
    }
    lane.ready.insert(this.#place(job), job.ordinal);
  }

  /** Remove a job, if it is there. */
  remove(job: JobRecord): void {
    const lane = this.#lanes.get(laneOf(job));
    if (lane === undefined) return;
    lane.ready.remove(this.#place(job), job.ordinal);
    if (lane.ready.size === 0) this.#lanes.delete(lane.key);
  }

  /** 1 for the first job in its lane. The job itself may be absent, because of a running commit. */
  position(job: JobRecord): number {
    const lane = this.#lanes.get(laneOf(job));
    return lane === undefined ? 1 : lane.ready.rank(this.#place(job), job.ordinal) + 1;
  }

  /** @param jobAt the job of an ordinal. */
  summaries(jobAt: (ordinal: number) => JobRecord): LaneSummary[] {
    const summaries: LaneSummary[] = [];
    for (const { key, life, run, ready } of this.#lanes.values()) {
      const head = ready.first();
      if (head === undefined) continue;
      const headEnqueuedAt = jobAt(head.minor).life.enqueuedAt;
      const { strategy } = life;
      const candidates = candidatesOf(life);
      summaries.push({ key, strategy, candidates, run, ready: ready.size, headEnqueuedAt });
    }
    return summaries;
  }

  /**
   * The ready jobs of some lanes in claim order, over all of them. Between two steps jobs may be added and removed. The
   * caller passes `next(false)` when it wants no more of the lane of the last job.
   */
  *walk(keys: readonly string[]): Generator<{ ordinal: number; lane: string }, void, boolean> {
    const heads = new Heap<Head>((a, b) => a.major < b.major || (a.major === b.major && a.minor < b.minor));
    for (const key of new Set(keys)) {
      const lane = this.#lanes.get(key);
      const head = lane?.ready.first();
      if (lane !== undefined && head !== undefined) heads.push({ ...head, lane });
    }
    for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
      const { lane, major, minor } = head;
      const wantsMore = yield { ordinal: minor, lane: lane.key };
      if (!wantsMore) continue;
      // By key and not by index: the job may have left the lane, and others may have been added since.
      const next = lane.ready.after(major, minor);
      if (next !== undefined) heads.push({ ...next, lane });
    }
  }

  #place(job: JobHead): number {
    const { priority, enqueuedAt } = job.life;
    let headStart = this.#headStarts.get(priority);
    if (headStart === undefined) {
      headStart = this.#headStart(priority);
      if (!Number.isFinite(headStart))
        throw new TypeError(`the head start of priority ${priority} is no number`);
      // Labels come from clients; past the bound the function is trusted to return the same again.
      if (this.#headStarts.size < 1_000) this.#headStarts.set(priority, headStart);
    }
    return enqueuedAt - headStart;
  }
}
