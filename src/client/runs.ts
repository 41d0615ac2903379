import type {
  ResumeRunBody,
  RunBody,
  RunLineBody,
  WireRun,
  WireRunJobs,
  WireRunList,
  WireRunResult,
  WireRunRetry,
} from '../domain/wire/run.ts';
import { ask, askLines, askText, type Call, type Connection } from './request.ts';

/** The filters of a list of runs; at most 1,000 of them, 50 by default. */
export interface RunFilters {
  /** Several with commas. */
  status?: string | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

/** A request that a signal may end. */
interface Abortable {
  signal?: AbortSignal | undefined;
}

/** The part of the client that is about runs. A run is named by its name or its id. */
export interface RunClient {
  /** Newest first. */
  runs(filters?: RunFilters, options?: Abortable): Promise<WireRunList>;
  run(name: string, options?: Abortable): Promise<WireRun>;
  /** Make a run, or find the one of this name: nothing of it changes then. */
  makeRun(run: RunBody, options?: Abortable): Promise<WireRun>;
  /** All of them or none, 1 to 10,000. Lines that the run has are not sent twice, so that a repeated request is harmless. */
  addRunJobs(name: string, jobs: readonly RunLineBody[], options?: Abortable): Promise<WireRunJobs>;
  /** The answers to up to 1,000 lines, in the order asked. */
  runResults(name: string, lineIds: readonly string[], options?: Abortable): Promise<WireRunResult[]>;
  /** All answers, in the order of the lines, as text in parts. */
  exportRunResults(name: string, format: string, options?: Abortable): AsyncGenerator<string>;
  /** Its failed jobs, or those of one class. */
  retryRun(name: string, failureClass?: string): Promise<WireRunRetry>;
  cancelRun(name: string): Promise<WireRun>;
  pauseRun(name: string): Promise<WireRun>;
  /** Limits that are given replace those of the run. 409 while one is still exceeded. */
  resumeRun(name: string, limits?: ResumeRunBody, options?: Abortable): Promise<WireRun>;
}

/** Milliseconds for a batch to arrive and be written, or for the answers of 1,000 lines. */
const batchMs = 120_000;
/** Between two parts of an export. Node's fetch gives up after 300 s. */
const exportPartMs = 290_000;

/** @param timeoutMs for an answer to a small request. */
export function createRunClient(connection: Connection, timeoutMs: number): RunClient {
  const pathOf = (name: string): string => `/api/runs/${encodeURIComponent(name)}`;
  const get = <T>(path: string, call: Partial<Call> = {}): Promise<T> =>
    ask<T>(connection, { timeoutMs, path, ...call });
  const post = <T>(path: string, call: Partial<Call> = {}): Promise<T> =>
    get<T>(path, { method: 'POST', ...call });
  return {
    runs: (filters = {}, { signal } = {}) => get('/api/runs', { query: { ...filters }, signal }),
    run: (name, { signal } = {}) => get(pathOf(name), { signal }),
    makeRun: (run, { signal } = {}) => post('/api/runs', { body: run, signal }),
    addRunJobs: (name, jobs, { signal } = {}) => {
      const lines = jobs.map((job) => `${JSON.stringify(job)}\n`).join('');
      return post(`${pathOf(name)}/jobs`, { lines, signal, timeoutMs: batchMs });
    },
    runResults: (name, lineIds, { signal } = {}) => {
      const call: Call = {
        method: 'POST',
        path: `${pathOf(name)}/results`,
        body: { line_ids: lineIds },
        timeoutMs: batchMs,
        signal,
      };
      return listOf(askLines<WireRunResult>(connection, call));
    },
    exportRunResults: (name, format, { signal } = {}) => {
      const path = `${pathOf(name)}/results`;
      return askText(connection, { path, query: { format }, timeoutMs: exportPartMs, signal });
    },
    retryRun: (name, failureClass) =>
      post(`${pathOf(name)}/retry`, { body: failureClass === undefined ? {} : { class: failureClass } }),
    cancelRun: (name) => post(`${pathOf(name)}/cancel`),
    pauseRun: (name) => post(`${pathOf(name)}/pause`),
    resumeRun: (name, limits = {}, { signal } = {}) =>
      post(`${pathOf(name)}/resume`, { body: limits, signal }),
  };
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
