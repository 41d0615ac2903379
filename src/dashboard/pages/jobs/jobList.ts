import { type ReadonlySignal, signal } from '@preact/signals';
import type { JobFilters } from '../../../client/client.ts';
import { ApiError } from '../../../client/errors.ts';
import type { WireJob, WireJobList } from '../../../domain/wire/job.ts';

const pageSize = 100;
/** Pages that are kept: what is far from the view is forgotten, so that memory stays flat. */
const pagesMax = 20;
/** At most so often the rows are drawn anew for what happens, ms. */
const paceMs = 250;
/** New jobs that are counted one by one. */
const freshMax = 1_000;

interface ListState {
  /** null before the first answer. */
  total: number | null;
  /** There are more than `total`. */
  isCapped: boolean;
  error: unknown;
  /** Rises with every change of the rows. */
  revision: number;
  /** Jobs that the list would show and does not yet. */
  fresh: number;
}

export interface JobListOptions {
  load(filters: JobFilters, signal: AbortSignal): Promise<WireJobList>;
  filters: JobFilters;
  /** Whether a job that was heard of belongs here. */
  isMatch(job: WireJob): boolean;
  /** Whether jobs come into the list by a change too, and not only by their creation. */
  gainsByChange: boolean;
  /** @returns what cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** A job that an event told of, and whether one of its creation did. */
interface Heard {
  job: WireJob;
  isCreated: boolean;
}

function isNewestGone(error: unknown): boolean {
  return error instanceof ApiError && error.errors.some(({ field }) => field === 'newest');
}

/**
 * A list of jobs of any length, read a page at a time where the view is. It holds still: it begins with the job that
 * was the newest when it was opened, rows change in their place, and what comes in meanwhile is only counted.
 */
export class JobList {
  readonly #options: JobListOptions;
  readonly #state = signal<ListState>({ total: null, isCapped: false, error: null, revision: 0, fresh: 0 });
  readonly #pages = new Map<number, WireJob[]>();
  /** Of the loaded rows: their page. */
  readonly #places = new Map<string, number>();
  readonly #fresh = new Set<string>();
  readonly #loading = new Set<number>();
  /** What happened while answers are on their way: they may be older than that. */
  readonly #heard = new Map<string, Heard>();
  /** Of the pages on their way: those that were asked for before the last `refresh`. */
  readonly #outdated = new Set<number>();
  readonly #ends = new AbortController();
  #newest: WireJob | null = null;
  /** New jobs that nobody told of, beside those in `#fresh`: they came while nobody listened. */
  #untold = 0;
  /** The rows that are wanted; `to` is the one after the last. */
  #view = { from: 0, to: pageSize };
  #cancelPaint: (() => void) | null = null;

  constructor(options: JobListOptions) {
    this.#options = options;
  }

  get state(): ReadonlySignal<ListState> {
    return this.#state;
  }

  /** What the list is of: its filters and where it begins. */
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

  /** Whether a row in view shows why its job waits. */
  hasWaitingInView(): boolean {
    for (let index = this.#view.from; index < this.#view.to; index += 1)
      if (this.row(index)?.status === 'pending') return true;
    return false;
  }

  /** Read what is needed to show these rows. @param to the one after the last. */
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

  /** Something happened to a job. @param isCreated whether that is its creation. */
  hear(job: WireJob, isCreated: boolean): void {
    const heard = { job, isCreated: isCreated || this.#heard.get(job.id)?.isCreated === true };
    if (this.#loading.size > 0) this.#heard.set(job.id, heard);
    this.#place(heard);
  }

  #place({ job, isCreated }: Heard): void {
    const page = this.#places.get(job.id);
    if (page !== undefined) {
      const rows = this.#pages.get(page);
      const index = rows?.findIndex(({ id }) => id === job.id) ?? -1;
      if (rows !== undefined && index >= 0) rows[index] = job;
      this.#paintSoon();
      return;
    }
    // What is told of late may be of a job that the answers have counted already.
    const isNew = isCreated && job.created_at >= (this.#newest?.created_at ?? '');
    if (!(isNew || this.#options.gainsByChange)) return;
    if (this.#fresh.size >= freshMax || this.#fresh.has(job.id)) return;
    if (this.#state.peek().total === null || !this.#options.isMatch(job)) return;
    this.#fresh.add(job.id);
    this.#paintSoon();
  }

  /** Try again what could not be read. */
  retry(): void {
    this.#state.value = { ...this.#state.peek(), error: null };
    this.ensure(this.#view.from, this.#view.to);
  }

  /**
   * Events before this moment may not have been heard, those after it are: read what is in view anew, in its place, and
   * count what came in meanwhile.
   */
  async refresh(): Promise<void> {
    const { from, to } = this.#view;
    const [first, last] = [Math.floor(from / pageSize), Math.floor(Math.max(from, to - 1) / pageSize)];
    for (const page of this.#loading) this.#outdated.add(page);
    for (const page of [...this.#pages.keys()]) {
      if (page < first || page > last) this.#forget(page);
      else void this.#load(page);
    }
    // What could not be read while nobody answered is read now.
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
      // It stands further down, or has left the filter.
      const newer = place >= 0 ? place : total - (await ask(this.filters, 1)).total;
      if (this.#ends.signal.aborted || newest !== this.#newest) return;
      for (const { id } of jobs.slice(0, Math.max(0, newer))) this.#fresh.add(id);
      this.#untold = Math.max(0, newer - this.#fresh.size);
      this.#paintSoon();
    } catch {
      // The rows in view say what is wrong.
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
    let isBegunAnew = false;
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
      // Once for all pages that were asked for at the same time.
      isBegunAnew = asked.newest === this.#newest.id;
      if (isBegunAnew) this.#newest = null;
    } finally {
      this.#loading.delete(page);
      isOutdated = this.#outdated.delete(page);
      if (this.#loading.size === 0) this.#heard.clear();
    }
    if (isBegunAnew) await this.#beginAnew();
    else if (isOutdated) await Promise.all([this.#load(page), this.#countNewer()]);
  }

  /** The job that the list begins with has left for the archive: from now on it begins with the one that is the newest. */
  async #beginAnew(): Promise<void> {
    for (const page of [...this.#pages.keys()]) this.#forget(page);
    this.#fresh.clear();
    this.#untold = 0;
    await this.#load(0);
    this.ensure(this.#view.from, this.#view.to);
    this.#paintSoon();
  }

  #take(page: number, { jobs, total, total_capped }: WireJobList): void {
    if (page === 0) this.#newest ??= jobs[0] ?? null;
    // Jobs that left the filter move the later ones up: a row that stands elsewhere already is not shown twice.
    const rows = jobs.filter(({ id }) => (this.#places.get(id) ?? page) === page);
    this.#forget(page);
    this.#pages.set(page, rows);
    for (const { id } of rows) {
      this.#places.set(id, page);
      this.#fresh.delete(id);
    }
    const { revision, total: before } = this.#state.peek();
    // The list does not shrink under the reader.
    const known = Math.max(before ?? 0, total);
    this.#state.value = {
      total: known,
      isCapped: total_capped === true,
      error: null,
      revision: revision + 1,
      fresh: this.#untold + this.#fresh.size,
    };
    for (const heard of this.#heard.values()) this.#place(heard);
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
      this.#state.value = { ...state, revision: state.revision + 1, fresh: this.#untold + this.#fresh.size };
    });
  }
}
