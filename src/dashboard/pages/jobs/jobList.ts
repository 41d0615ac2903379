import { type ReadonlySignal, signal } from '@preact/signals';
import type { JobFilters } from '../../../client/client.ts';
import { ApiError } from '../../../client/errors.ts';
import type { WireJob, WireJobList } from '../../../domain/wire/job.ts';

const pageSize = 100;
/** Pages kept: those far from the view are dropped, so that memory is bounded. */
const pagesMax = 20;
/** The shortest interval between two renderings because of events, ms. */
const paceMs = 250;
/** New jobs counted exactly. */
const freshMax = 1_000;

interface ListState {
  /** null before the first answer. */
  total: number | null;
  /** There are more than `total`. */
  isCapped: boolean;
  error: unknown;
  /** Rises with every change of the rows. */
  revision: number;
  /** Matching jobs that are not in the list yet. */
  fresh: number;
}

export interface JobListOptions {
  load(filters: JobFilters, signal: AbortSignal): Promise<WireJobList>;
  filters: JobFilters;
  /** Whether a job from an event belongs here. */
  isMatch(job: WireJob): boolean;
  /** Whether a change can also add jobs to the list, not only their creation. */
  gainsByChange: boolean;
  /** @returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** A job from an event, and whether an event reported its creation. */
interface JobEvent {
  job: WireJob;
  isCreated: boolean;
}

function isNewestGone(error: unknown): boolean {
  return error instanceof ApiError && error.errors.some(({ field }) => field === 'newest');
}

/**
 * A list of jobs of any length, loaded a page at a time around the view. It is stable: it starts with the newest job at
 * the time it was opened, rows change in place, and newer jobs are only counted. An empty list has no rows to keep in
 * place, so it begins again with the first job that belongs there.
 */
export class JobList {
  readonly #options: JobListOptions;
  readonly #state = signal<ListState>({ total: null, isCapped: false, error: null, revision: 0, fresh: 0 });
  readonly #pages = new Map<number, WireJob[]>();
  /** The page of each loaded row. */
  readonly #places = new Map<string, number>();
  readonly #fresh = new Set<string>();
  readonly #loading = new Set<number>();
  /** Events during running requests, whose answers may be older. */
  readonly #events = new Map<string, JobEvent>();
  /** Running requests that were sent before the last `refresh`. */
  readonly #outdated = new Set<number>();
  readonly #ends = new AbortController();
  #newest: WireJob | null = null;
  /** New jobs without an event, in addition to `#fresh`: they were created while there was no connection. */
  #missedCount = 0;
  /** The wanted rows; `to` is the one after the last. */
  #view = { from: 0, to: pageSize };
  #cancelPaint: (() => void) | null = null;

  constructor(options: JobListOptions) {
    this.#options = options;
  }

  get state(): ReadonlySignal<ListState> {
    return this.#state;
  }

  /** The filters of the list, with its first job. */
  get filters(): JobFilters {
    return { ...this.#options.filters, ...(this.#newest === null ? {} : { newest: this.#newest.id }) };
  }

  get signal(): AbortSignal {
    return this.#ends.signal;
  }

  row(index: number): WireJob | undefined {
    return this.#pages.get(Math.floor(index / pageSize))?.[index % pageSize];
  }

  /** The loaded job with this id. */
  get(id: string): WireJob | undefined {
    const page = this.#places.get(id);
    return page === undefined ? undefined : this.#pages.get(page)?.find((job) => job.id === id);
  }

  /** Whether a visible row shows why its job waits. */
  hasWaitingInView(): boolean {
    for (let index = this.#view.from; index < this.#view.to; index += 1)
      if (this.row(index)?.status === 'pending') return true;
    return false;
  }

  /** Load what is needed for these rows. @param to the one after the last. */
  ensure(from: number, to: number): void {
    this.#view = { from, to };
    const { total } = this.#state.peek();
    if (total === null) {
      void this.#load(0);
      return;
    }
    const last = Math.floor(Math.max(from, Math.min(to, total) - 1) / pageSize);
    for (let page = Math.floor(from / pageSize); page <= last && page * pageSize < total; page += 1) {
      if (!this.#pages.has(page)) void this.#load(page);
    }
    this.#forgetFar(Math.floor(from / pageSize));
  }

  /** An event about a job. @param isCreated whether it was created. */
  onEvent(job: WireJob, isCreated: boolean): void {
    const seen = { job, isCreated: isCreated || this.#events.get(job.id)?.isCreated === true };
    if (this.#loading.size > 0) this.#events.set(job.id, seen);
    this.#place(seen);
  }

  #place({ job, isCreated }: JobEvent): void {
    const page = this.#places.get(job.id);
    if (page !== undefined) {
      const rows = this.#pages.get(page);
      const index = rows?.findIndex(({ id }) => id === job.id) ?? -1;
      if (rows !== undefined && index >= 0) rows[index] = job;
      this.#paintSoon();
      return;
    }
    // A late event may be about a job that the answers already include.
    const isNew = isCreated && job.created_at >= (this.#newest?.created_at ?? '');
    if (!(isNew || this.#options.gainsByChange)) return;
    if (this.#fresh.size >= freshMax || this.#fresh.has(job.id)) return;
    if (this.#state.peek().total === null || !this.#options.isMatch(job)) return;
    this.#fresh.add(job.id);
    this.#paintSoon();
  }

  /** Retry failed requests. */
  retry(): void {
    this.#state.value = { ...this.#state.peek(), error: null };
    this.ensure(this.#view.from, this.#view.to);
  }

  /**
   * Events before this moment may be missing, those after it are not: reload the visible pages in place, and count
   * newer jobs.
   */
  async refresh(): Promise<void> {
    const { from, to } = this.#view;
    const [first, last] = [Math.floor(from / pageSize), Math.floor(Math.max(from, to - 1) / pageSize)];
    for (const page of this.#loading) this.#outdated.add(page);
    for (const page of [...this.#pages.keys()]) {
      if (page < first || page > last) this.#forget(page);
      else void this.#load(page);
    }
    // Retry what could not be loaded during the outage.
    if (this.#state.peek().error !== null) this.retry();
    await this.#countNewer();
  }

  async #countNewer(): Promise<void> {
    const newest = this.#newest;
    if (newest === null) return;
    const ask = (filters: JobFilters, limit: number) =>
      this.#options.load({ ...filters, limit }, this.#ends.signal);
    try {
      const { jobs, total } = await ask(this.#options.filters, pageSize);
      const place = jobs.findIndex(({ id }) => id === newest.id);
      // It is further down, or no longer matches.
      const newer = place >= 0 ? place : total - (await ask(this.filters, 1)).total;
      if (this.#ends.signal.aborted || newest !== this.#newest) return;
      for (const { id } of jobs.slice(0, Math.max(0, newer))) this.#fresh.add(id);
      this.#missedCount = Math.max(0, newer - this.#fresh.size);
      this.#paintSoon();
    } catch {
      // The visible rows show the error.
    }
  }

  close(): void {
    this.#ends.abort();
    this.#cancelPaint?.();
  }

  async #load(page: number): Promise<void> {
    if (this.#loading.has(page) || this.#ends.signal.aborted) return;
    this.#loading.add(page);
    const asked = { ...this.filters, limit: pageSize, offset: page * pageSize };
    let isRestarted = false;
    let isOutdated = false;
    try {
      const list = await this.#options.load(asked, this.#ends.signal);
      if (this.#ends.signal.aborted) return;
      this.#take(page, list);
    } catch (error) {
      if (this.#ends.signal.aborted) return;
      if (this.#newest === null || !isNewestGone(error)) {
        this.#state.value = { ...this.#state.peek(), error };
        return;
      }
      // Once for all pages requested at the same time.
      isRestarted = asked.newest === this.#newest.id;
      if (isRestarted) this.#newest = null;
    } finally {
      this.#loading.delete(page);
      isOutdated = this.#outdated.delete(page);
      if (this.#loading.size === 0) this.#events.clear();
    }
    if (isRestarted) await this.#restart();
    else if (isOutdated) await Promise.all([this.#load(page), this.#countNewer()]);
  }

  /** Start with the newest job instead: the first one was archived, or there was none. */
  async #restart(): Promise<void> {
    for (const page of [...this.#pages.keys()]) this.#forget(page);
    this.#fresh.clear();
    this.#missedCount = 0;
    await this.#load(0);
    this.ensure(this.#view.from, this.#view.to);
    this.#paintSoon();
  }

  #take(page: number, { jobs, total, total_capped }: WireJobList): void {
    if (page === 0) this.#newest ??= jobs[0] ?? null;
    // Jobs that no longer match move the later ones up: a row is not shown twice.
    const rows = jobs.filter(({ id }) => (this.#places.get(id) ?? page) === page);
    this.#forget(page);
    this.#pages.set(page, rows);
    for (const { id } of rows) {
      this.#places.set(id, page);
      this.#fresh.delete(id);
    }
    const { revision, total: before } = this.#state.peek();
    // The list does not shrink while it is read.
    const known = Math.max(before ?? 0, total);
    this.#state.value = {
      total: known,
      isCapped: total_capped === true,
      error: null,
      revision: revision + 1,
      fresh: this.#missedCount + this.#fresh.size,
    };
    for (const seen of this.#events.values()) this.#place(seen);
  }

  #forgetFar(page: number): void {
    while (this.#pages.size > pagesMax) {
      const [farthest = 0] = [...this.#pages.keys()].sort((a, b) => Math.abs(b - page) - Math.abs(a - page));
      this.#forget(farthest);
    }
  }

  #forget(page: number): void {
    for (const { id } of this.#pages.get(page) ?? []) this.#places.delete(id);
    this.#pages.delete(page);
  }

  #paintSoon(): void {
    this.#cancelPaint ??= this.#options.after(paceMs, () => {
      this.#cancelPaint = null;
      const state = this.#state.peek();
      const fresh = this.#missedCount + this.#fresh.size;
      if (state.total === 0 && fresh > 0) void this.#restart();
      else this.#state.value = { ...state, revision: state.revision + 1, fresh };
    });
  }
}
