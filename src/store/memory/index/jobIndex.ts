/* Jobs by id, by order of creation, by state, provider and run, and by the time of their end. Owns the counts for lists: no
   total is ever counted. Only in memory, rebuilt at each start. */

import type { JobHead, JobRecord } from '../../../domain/job.ts';
import { isTerminal, type JobState, type JobStatus, jobStates, statusOf } from '../../../domain/states.ts';
import { PagedList } from '../../../lib/pagedList.ts';
import { SortedList } from '../../../lib/sortedList.ts';
import { TextIndex } from '../../../lib/textIndex.ts';
import type { UnreadJobs } from '../../durableLog.ts';
import type { JobCounts, JobFilter } from '../../store.ts';
import { EndedJobs } from './endedJobs.ts';
import { UnreadBlock } from './unreadBlock.ts';

type ByState = Record<JobState, SortedList>;

function createByState(): ByState {
  return {
    'pending.ready': new SortedList(),
    'pending.delayed': new SortedList(),
    'running.active': new SortedList(),
    'running.stuck': new SortedList(),
    completed: new SortedList(),
    failed: new SortedList(),
    cancelled: new SortedList(),
  };
}

/** Ordinals of the jobs that have a provider or a run in common. */
interface Group {
  all: SortedList;
  byState: ByState;
}

/** The groups of one kind, by name; those without jobs are dropped. */
class Groups {
  readonly #groups = new Map<string, Group>();

  get(name: string): Group | undefined {
    return this.#groups.get(name);
  }

  enter(name: string | null | undefined, { ordinal, state }: JobHead): void {
    if (name === null || name === undefined) return;
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { all: new SortedList(), byState: createByState() };
      this.#groups.set(name, group);
    }
    group.all.insert(ordinal, 0);
    group.byState[state].insert(ordinal, 0);
  }

  move(name: string | null | undefined, { ordinal }: JobRecord, from: JobState, to: JobState): void {
    const group = name === null || name === undefined ? undefined : this.#groups.get(name);
    group?.byState[from].remove(ordinal, 0);
    group?.byState[to].insert(ordinal, 0);
  }

  leave(name: string | null | undefined, { ordinal, state }: JobRecord): void {
    const group = name === null || name === undefined ? undefined : this.#groups.get(name);
    if (name === null || name === undefined || group === undefined) return;
    group.all.remove(ordinal, 0);
    group.byState[state].remove(ordinal, 0);
    if (group.all.size === 0) this.#groups.delete(name);
  }
}

/** Whether the filter includes a job in this state. */
export function isInState(
  state: JobState,
  { statuses, states }: Pick<JobFilter, 'statuses' | 'states'>,
): boolean {
  return (
    (statuses.length === 0 || statuses.includes(statusOf(state))) &&
    (states.length === 0 || states.includes(state))
  );
}

/** The filters that sets answer; of provider and run together only the run. */
type SetFilter = Pick<JobFilter, 'statuses' | 'states' | 'provider' | 'run'>;

/** Ordinals of jobs with something in common; lists show them newest first. */
export interface OrdinalSet {
  readonly size: number;
  /** The largest ordinal below the given one; 0 when there is none. */
  below(ordinal: number): number;
  /** How many ordinals are the given one or above. */
  countFrom(ordinal: number): number;
}

class SortedOrdinals implements OrdinalSet {
  readonly #list: SortedList;

  constructor(list: SortedList) {
    this.#list = list;
  }

  get size(): number {
    return this.#list.size;
  }

  below(ordinal: number): number {
    return this.#list.before(ordinal, 0)?.major ?? 0;
  }

  countFrom(ordinal: number): number {
    return this.#list.size - this.#list.rank(ordinal, 0);
  }
}

/** What a `JobIndex` does with a job that it reads. */
export interface Reading {
  /** Prepares the job before anybody has it. */
  onRead(job: JobRecord): void;
  /** Called with the error before it is thrown. */
  onDamaged(error: unknown): void;
}

/**
 * All jobs by id and by order of creation, with the sets that lists and counts are made of: by state, by requested
 * provider and by run, each alone and with the state; and the ended ones by the time of their end. A change of state costs four inserts or removals,
 * some 2 µs; no total is ever counted.
 */
export class JobIndex {
  /** By ordinal; of a job that is not read, its block. */
  readonly #jobs = new PagedList<JobRecord | UnreadBlock>();
  readonly #ordinals = new TextIndex((ordinal) => this.#idOf(ordinal));
  readonly #byState = createByState();
  readonly #byProvider = new Groups();
  readonly #byRun = new Groups();
  readonly #ended = new EndedJobs();
  readonly #reading: Reading;
  #lastOrdinal = 0;
  #isIndexed = false;
  #unreadBytes = 0;
  #readCount = 0;
  /** While jobs are loaded. */
  #lastBlock: UnreadBlock | null = null;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** Bytes of memory outside of the heap that hold jobs that are not read. */
  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  /** How many jobs were read, ever: each costs as much as ten looks at a job. */
  get readCount(): number {
    return this.#readCount;
  }

  /** The last used ordinal, even if its job is removed; 0 before the first. */
  get lastOrdinal(): number {
    return this.#lastOrdinal;
  }

  /** Ordinals up to this one are used. */
  skipTo(lastOrdinal: number): void {
    this.#lastOrdinal = Math.max(this.#lastOrdinal, lastOrdinal);
  }

  has(id: string): boolean {
    return this.#ordinals.get(id) !== 0;
  }

  /** @throws DataDamaged, see `UnreadJobs`. */
  get(id: string): JobRecord | undefined {
    const ordinal = this.#ordinals.get(id);
    return ordinal === 0 ? undefined : this.at(ordinal);
  }

  /** @throws Error when there is no such job: ordinals only come from this index. @throws DataDamaged, see `UnreadJobs`. */
  at(ordinal: number): JobRecord {
    const job = this.#stored(ordinal);
    return job instanceof UnreadBlock ? this.#readFrom(job, ordinal) : job;
  }

  /** Add a new job or replace a known one. A new one must have an ordinal after the last. */
  put(job: JobRecord): void {
    const stored = this.#jobs.get(job.ordinal);
    const previous = stored instanceof UnreadBlock ? this.#readFrom(stored, job.ordinal) : stored;
    if (previous === undefined) {
      this.#begin(job.id, job.ordinal);
    } else if (previous.id !== job.id) {
      throw new Error(`job number ${job.ordinal} is ${previous.id}, not ${job.id}`);
    }
    this.#jobs.set(job.ordinal, job);
    if (!this.#isIndexed) return;
    if (previous === undefined) this.#enterAll(job);
    else this.#move(previous, job);
  }

  /** Add a new job that is read when it is needed, before the sets are built. Its ordinal is after the last. */
  putUnread(jobs: UnreadJobs, index: number): void {
    const ordinal = jobs.ordinals[index] as number;
    this.#begin(jobs.ids[index] as string, ordinal);
    let block = this.#lastBlock;
    if (block?.jobs !== jobs) {
      block = new UnreadBlock(jobs);
      this.#lastBlock = block;
      this.#unreadBytes += jobs.bytes;
    }
    block.left += 1;
    this.#jobs.set(ordinal, block);
  }

  /** Remove an ended job; its ordinal is not used again. */
  remove({ id, ordinal }: JobRecord): void {
    const job = this.at(ordinal);
    this.#ordinals.remove(id, ordinal);
    this.#jobs.delete(ordinal);
    if (!this.#isIndexed) return;
    this.#byState[job.state].remove(ordinal, 0);
    this.#ended.remove(job);
    this.#byProvider.leave(job.request.provider, job);
    this.#byRun.leave(job.run?.runId, job);
  }

  /** How many jobs have ended. */
  get endedCount(): number {
    return this.#ended.size;
  }

  /**
   * The ended jobs, the first ended first, without those set aside until after `now`, epoch ms. Jobs may be removed or
   * set aside meanwhile.
   */
  *ended(now: number): Generator<JobRecord> {
    for (let due = this.#ended.firstDue(now); due !== undefined; due = this.#ended.firstDue(now)) {
      const job = this.at(due);
      this.#ended.remove(job);
      this.#ended.add(job);
    }
    for (const ordinal of this.#ended.inTurn()) yield this.at(ordinal);
  }

  /** Exclude an ended job from `ended`, until a time (epoch ms) or its next change. */
  setAside(job: JobRecord, until: number): void {
    this.#ended.setAside(job, until);
  }

  /** Build the sets from all jobs, in one pass; from here on they are maintained. @param each called with every job. */
  buildSets(each: (job: JobHead) => void): void {
    this.#isIndexed = true;
    this.#lastBlock = null;
    for (const [ordinal, job] of this.#jobs.entries()) {
      const head = job instanceof UnreadBlock ? job.head(ordinal) : job;
      if (job instanceof UnreadBlock) this.#enter(head);
      else this.#enterAll(job);
      each(head);
    }
  }

  counts(): JobCounts {
    const byStatus: Record<JobStatus, number> = {
      pending: 0,
      running: 0,
      completed: 0,
      failed: 0,
      cancelled: 0,
    };
    const sizes = jobStates.map((state) => [state, this.#byState[state].size] as const);
    for (const [state, size] of sizes) byStatus[statusOf(state)] += size;
    const byState = Object.fromEntries(sizes) as Record<JobState, number>;
    return { total: this.#jobs.size, byStatus, byState };
  }

  /**
   * Jobs of a run, oldest first, in memory only. @param after ordinal of the last job that was returned before; 0 for
   * the first page.
   */
  ofRun(runId: string, state: JobState | null, after: number, limit: number): JobRecord[] {
    const group = this.#byRun.get(runId);
    const list = state === null ? group?.all : group?.byState[state];
    const jobs: JobRecord[] = [];
    for (let entry = list?.after(after, 0); entry !== undefined; entry = list?.after(entry.major, 0)) {
      jobs.push(this.at(entry.major));
      if (jobs.length === limit) break;
    }
    return jobs;
  }

  countOfRun(runId: string): number {
    return this.#byRun.get(runId)?.all.size ?? 0;
  }

  /** The jobs in one of these states, state by state, each oldest first. */
  in(...states: readonly JobState[]): JobRecord[] {
    return [...this.#ordinalsIn(states)].map((ordinal) => this.at(ordinal));
  }

  /** How many jobs in one of these states each key has created, by its id. */
  countByKey(...states: readonly JobState[]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const ordinal of this.#ordinalsIn(states)) {
      const job = this.#stored(ordinal);
      const { createdBy } = job instanceof UnreadBlock ? job.head(ordinal) : job;
      if (createdBy !== null) counts.set(createdBy.keyId, (counts.get(createdBy.keyId) ?? 0) + 1);
    }
    return counts;
  }

  /** Disjoint sets that together contain the jobs of these filters. Their sizes are the total. */
  setsOf({ statuses, states, provider, run }: SetFilter): OrdinalSet[] {
    // Of both, the run: it has fewer jobs, and the provider is tested one by one.
    const lists =
      run !== null ? this.#byRun.get(run) : provider === null ? null : this.#byProvider.get(provider);
    if (lists === undefined) return [];
    if (lists !== null && statuses.length === 0 && states.length === 0)
      return [new SortedOrdinals(lists.all)];
    const byState = lists?.byState ?? this.#byState;
    return jobStates
      .filter((state) => isInState(state, { statuses, states }))
      .map((state) => new SortedOrdinals(byState[state]));
  }

  *#ordinalsIn(states: readonly JobState[]): Generator<number> {
    for (const list of states.map((state) => this.#byState[state])) {
      for (let entry = list.first(); entry !== undefined; entry = list.after(entry.major, entry.minor))
        yield entry.major;
    }
  }

  /** Note a new job. */
  #begin(id: string, ordinal: number): void {
    if (ordinal <= this.#lastOrdinal) throw new Error(`job number ${ordinal} comes out of order`);
    this.#lastOrdinal = ordinal;
    this.#ordinals.add(id, ordinal);
  }

  #idOf(ordinal: number): string {
    const job = this.#stored(ordinal);
    return job instanceof UnreadBlock ? job.idOf(ordinal) : job.id;
  }

  #stored(ordinal: number): JobRecord | UnreadBlock {
    const job = this.#jobs.get(ordinal);
    if (job === undefined) throw new Error(`there is no job number ${ordinal}`);
    return job;
  }

  #readFrom(block: UnreadBlock, ordinal: number): JobRecord {
    const job = this.#readOne(block, ordinal);
    if (block.isWorthReading) {
      for (const other of block.ordinals) if (this.#jobs.get(other) === block) this.#readOne(block, other);
      this.#unreadBytes -= block.bytes;
    }
    return job;
  }

  #readOne(block: UnreadBlock, ordinal: number): JobRecord {
    const { onRead, onDamaged } = this.#reading;
    try {
      const job = block.read(ordinal);
      onRead(job);
      this.#jobs.set(ordinal, job);
      this.#readCount += 1;
      return job;
    } catch (error) {
      onDamaged(error);
      throw error;
    }
  }

  #enterAll(job: JobRecord): void {
    this.#enter(job);
    if (isTerminal(job.state)) this.#ended.add(job);
  }

  /** Enter the sets that any job may be in. */
  #enter(job: JobHead): void {
    const { ordinal } = job;
    this.#byState[job.state].insert(ordinal, 0);
    this.#byProvider.enter(job.request.provider, job);
    this.#byRun.enter(job.run?.runId, job);
  }

  #move(previous: JobRecord, job: JobRecord): void {
    const { ordinal } = job;
    if (isTerminal(previous.state)) this.#ended.remove(previous);
    if (isTerminal(job.state)) this.#ended.add(job);
    if (previous.state === job.state) return;
    this.#byState[previous.state].remove(ordinal, 0);
    this.#byState[job.state].insert(ordinal, 0);
    this.#byProvider.move(job.request.provider, job, previous.state, job.state);
    this.#byRun.move(job.run?.runId, job, previous.state, job.state);
  }
}
