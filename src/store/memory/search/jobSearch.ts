/* Pages and walks through the jobs in memory by a filter. Owns how much is done in one turn of the event loop; reads
   only, and returns every job at most once whatever changes meanwhile. */

import { CoordinatorError } from '../../../domain/errors.ts';
import { type JobRecord, lastAttempt } from '../../../domain/job.ts';
import { ownTurn } from '../../../lib/nextTurn.ts';
import { own } from '../../../lib/own.ts';
import type { JobFilter, JobPage, JobQuery } from '../../store.ts';
import { isInState, type JobIndex, type OrdinalSet } from '../index/jobIndex.ts';
import { TextSearch } from './textSearch.ts';

/** Matches counted before a total is shown as "at least". */
const countedMax = 10_000;
/**
 * Jobs tested in one turn of the event loop: at some 1 µs each about 1 ms. With tags a job takes as many times longer
 * as there are tags in the filter.
 */
const jobsPerTurn = 1_000;
/** A job that is read from what its log stored counts as so many: some 8 µs with the garbage it leaves. */
const readWeight = 8;

/**
 * A page of jobs, newest first. Without filters, and by status, state and provider, only the jobs of the page are
 * visited. Other filters test jobs from the newest on until the page is full and 10,000 matches are counted, or all of
 * them, with a turn of the event loop after every 1,000. Changes meanwhile may or may not be seen.
 * @param signal ends the search: the page has what was found by then.
 */
export async function searchJobs(index: JobIndex, query: JobQuery, signal?: AbortSignal): Promise<JobPage> {
  const sets = index.setsOf(query);
  const end = endOf(index, query);
  const test = testOf(query);
  if (test !== null) return scan(index, sets, query, test, signal);
  const size = sets.reduce((sum, set) => sum + set.size, 0);
  const newer = end > index.lastOrdinal ? 0 : sets.reduce((sum, set) => sum + set.countFrom(end), 0);
  const total = size - newer;
  const begin = query.offset === 0 ? end : ordinalBelow(sets, newer + query.offset, index.lastOrdinal);
  const walk = new NewestFirst(sets, begin);
  const jobs: JobRecord[] = [];
  while (jobs.length < query.limit) {
    const ordinal = walk.next();
    if (ordinal === 0) break;
    jobs.push(index.at(ordinal));
  }
  return { jobs, total, totalCapped: false };
}

async function scan(
  index: JobIndex,
  sets: readonly OrdinalSet[],
  query: JobQuery,
  test: JobTest,
  signal?: AbortSignal,
): Promise<JobPage> {
  const end = query.offset + query.limit;
  const matchesMax = Math.max(countedMax, end);
  const jobs: JobRecord[] = [];
  let total = 0;
  const walk = new NewestFirst(sets, endOf(index, query));
  for await (const batch of matches(index, walk, test)) {
    for (const job of batch) {
      if (total === matchesMax) return { jobs, total, totalCapped: true };
      if (total >= query.offset && total < end) jobs.push(job);
      total += 1;
    }
    if (signal?.aborted) break;
  }
  return { jobs, total, totalCapped: false };
}

/** The progress of a walk through all jobs. */
export interface Progress {
  /** Jobs with this ordinal or a larger one were visited. */
  below: number;
}

/** A running scan, as the archiving of jobs sees it. */
export interface Scan extends Progress {
  /** Ordinals of jobs archived after the scan has visited them: it must not visit them again in the archive. */
  readonly archived: Set<number>;
}

/**
 * Every job that the filter includes, newest first, in batches found in one turn of the event loop. Each job is visited
 * once, however it changes meanwhile; those created meanwhile are not.
 * @param progress kept up to date.
 */
export async function* filterJobs(
  index: JobIndex,
  filter: JobFilter,
  progress: Progress,
): AsyncGenerator<JobRecord[]> {
  progress.below = endOf(index, filter);
  const walk = new NewestFirst(index.setsOf(filter), progress.below);
  yield* matches(index, walk, testOf(filter) ?? everyJob, progress);
}

/** The jobs of a walk that pass the test; after each batch the event loop gets a turn. */
async function* matches(
  index: JobIndex,
  walk: NewestFirst,
  test: JobTest,
  progress: Progress = { below: 0 },
): AsyncGenerator<JobRecord[]> {
  let found: JobRecord[] = [];
  const budget = new Budget(test);
  for (let ordinal = walk.next(); ordinal !== 0; ordinal = walk.next()) {
    const readBefore = index.readCount;
    const job = index.at(ordinal);
    const passed = test.passes(job);
    if (passed === true) found.push(job);
    const isLong = typeof passed !== 'boolean';
    if (budget.isSpentBy(job, index.readCount - readBefore) || isLong) {
      progress.below = walk.below;
      yield found;
      // It may have changed while its prompt was searched.
      found = isLong && (await passed) ? [index.get(job.id) ?? job] : [];
      await ownTurn();
      // A job may have moved from one set to another, and must neither be returned twice nor skipped.
      walk.refresh();
    }
  }
  progress.below = 0;
  if (found.length > 0) yield found;
}

/** The jobs of a batch that pass the test; the event loop gets turns meanwhile. */
export async function passing(jobs: readonly JobRecord[], test: JobTest): Promise<JobRecord[]> {
  const found: JobRecord[] = [];
  const budget = new Budget(test);
  for (const job of jobs) {
    const passed = test.passes(job);
    if (typeof passed === 'boolean' ? passed : await passed) found.push(job);
    if (budget.isSpentBy(job)) await ownTurn();
  }
  return found;
}

/** The part of a filter that no set answers. */
interface JobTest {
  /** Whether a job passes; a promise when searching its prompt takes several turns. */
  passes(job: JobRecord): boolean | Promise<boolean>;
  jobsPerTurn: number;
  /** Of prompts, together. */
  charactersPerTurn: number;
}

/** The rest of a turn of the event loop. */
class Budget {
  readonly #test: JobTest;
  #jobs = 0;
  #characters = 0;

  constructor(test: JobTest) {
    this.#test = test;
  }

  /**
   * Whether this job uses up the turn; the next one then starts with the whole budget. @param read how many jobs were
   * read for it.
   */
  isSpentBy({ request }: JobRecord, read = 0): boolean {
    this.#jobs += 1 + read * readWeight;
    this.#characters += request.prompt?.length ?? 0;
    const { jobsPerTurn, charactersPerTurn } = this.#test;
    if (this.#jobs < jobsPerTurn && this.#characters < charactersPerTurn) return false;
    this.#jobs = 0;
    this.#characters = 0;
    return true;
  }
}

/**
 * The exclusive upper ordinal of a filter's jobs.
 * @throws CoordinatorError invalid_request when `newest` is not a job in memory: it may have been archived meanwhile.
 */
function endOf(index: JobIndex, { newest }: JobFilter): number {
  if (newest === null) return index.lastOrdinal + 1;
  const job = index.get(newest);
  if (job !== undefined) return job.ordinal + 1;
  const message = 'must be the id of a job that is not archived';
  throw new CoordinatorError('invalid_request', `The query is not valid: newest ${message}`, {
    errors: [{ field: 'newest', message }],
  });
}

/** The test of jobs outside the sets: the whole filter. */
export function wholeTestOf(index: JobIndex, filter: JobFilter): JobTest {
  const { provider, run } = filter;
  const end = filter.newest === null ? Number.POSITIVE_INFINITY : endOf(index, filter);
  const test = testOf(filter) ?? everyJob;
  return {
    ...test,
    passes: (job) =>
      job.ordinal < end &&
      isInState(job.state, filter) &&
      (provider === null || job.request.provider === provider) &&
      (run === null || job.run?.runId === run) &&
      test.passes(job),
  };
}

const everyJob: JobTest = {
  passes: () => true,
  jobsPerTurn,
  charactersPerTurn: Number.POSITIVE_INFINITY,
};

/** @returns null when the sets answer the whole filter. */
function testOf(filter: JobFilter): JobTest | null {
  const tests = plainTestsOf(filter);
  const search = filter.text === null || filter.text === '' ? null : new TextSearch(filter.text);
  if (tests.length === 0 && search === null) return null;
  return {
    // The text last, because it is the most expensive.
    passes: (job) => tests.every((isMatch) => isMatch(job)) && (search === null || hasText(job, search)),
    jobsPerTurn: Math.ceil(jobsPerTurn / (1 + filter.tags.length)),
    charactersPerTurn: search?.charactersPerTurn ?? Number.POSITIVE_INFINITY,
  };
}

function plainTestsOf(filter: JobFilter): ((job: JobRecord) => boolean)[] {
  const {
    provider,
    model,
    worker,
    createdBy,
    tags,
    priority,
    tier,
    run,
    metadata,
    createdAfter,
    createdBefore,
  } = filter;
  const tests: ((job: JobRecord) => boolean)[] = [];
  if (model !== null) tests.push((job) => job.request.model === model);
  if (worker !== null) tests.push((job) => lastAttempt(job.life)?.workerId === worker);
  if (createdBy !== null) tests.push((job) => job.createdBy?.keyId === createdBy);
  if (tags.length > 0) tests.push((job) => tags.every((tag) => job.request.tags.includes(tag)));
  if (priority !== null) tests.push((job) => job.request.priority === priority);
  if (tier !== null) tests.push((job) => job.request.tier === tier);
  // A set answers one of the two.
  if (run !== null && provider !== null) tests.push((job) => job.request.provider === provider);
  for (const [name, value] of metadata) tests.push((job) => own(job.request.metadata, name) === value);
  if (createdAfter !== null) tests.push((job) => job.createdAt >= createdAfter);
  if (createdBefore !== null) tests.push((job) => job.createdAt < createdBefore);
  return tests;
}

function hasText({ id, request: { prompt } }: JobRecord, search: TextSearch): boolean | Promise<boolean> {
  if (search.isIn(id)) return true;
  if (prompt === null) return false;
  return prompt.length <= search.charactersPerTurn ? search.isIn(prompt) : search.isInLong(prompt);
}

/** Members of several sets in descending order. */
class NewestFirst {
  readonly #sets: readonly OrdinalSet[];
  /** The next member of each set; 0 at its end. */
  #heads: number[];
  #below: number;

  /** @param below the exclusive upper ordinal. */
  constructor(sets: readonly OrdinalSet[], below: number) {
    this.#sets = sets;
    this.#below = below;
    this.#heads = sets.map((set) => set.below(below));
  }

  /** The last returned; everything from it on was visited. */
  get below(): number {
    return this.#below;
  }

  /** Read the sets again: needed after they may have changed. */
  refresh(): void {
    this.#heads = this.#sets.map((set) => set.below(this.#below));
  }

  /** The next ordinal; 0 at the end. */
  next(): number {
    let newest = 0;
    let from = 0;
    for (let i = 0; i < this.#heads.length; i += 1) {
      const head = this.#heads[i] ?? 0;
      if (head <= newest) continue;
      newest = head;
      from = i;
    }
    if (newest === 0) return 0;
    this.#below = newest;
    // The sets are disjoint.
    this.#heads[from] = this.#sets[from]?.below(newest) ?? 0;
    return newest;
  }
}

/**
 * The ordinal below which a page starts that skips the `offset` newest: a binary search by rank, so that page 2,000
 * costs as much as the first.
 */
function ordinalBelow(sets: readonly OrdinalSet[], offset: number, lastOrdinal: number): number {
  if (offset === 0) return lastOrdinal + 1;
  let low = 1;
  let high = lastOrdinal + 1;
  // The largest ordinal from which on there are at least `offset` members.
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    const count = sets.reduce((sum, set) => sum + set.countFrom(middle), 0);
    if (count >= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
