import type { ResumeRunBody, WireRun, WireRunList, WireRunRetry } from '../domain/wire/run.ts';
import { ask, askText, type Call, type Connection } from './request.ts';

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
  /** All answers, in the order of the lines, as text in parts. */
  exportRunResults(name: string, format: string, options?: Abortable): AsyncGenerator<string>;
  /** Its failed jobs, or those of one class. */
  retryRun(name: string, failureClass?: string): Promise<WireRunRetry>;
  cancelRun(name: string): Promise<WireRun>;
  pauseRun(name: string): Promise<WireRun>;
  /** Limits that are given replace those of the run. 409 while one is still exceeded. */
  resumeRun(name: string, limits?: ResumeRunBody): Promise<WireRun>;
}

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
    exportRunResults: (name, format, { signal } = {}) => {
      const path = `${pathOf(name)}/results`;
      return askText(connection, { path, query: { format }, timeoutMs: exportPartMs, signal });
    },
    retryRun: (name, failureClass) =>
      post(`${pathOf(name)}/retry`, { body: failureClass === undefined ? {} : { class: failureClass } }),
    cancelRun: (name) => post(`${pathOf(name)}/cancel`),
    pauseRun: (name) => post(`${pathOf(name)}/pause`),
    resumeRun: (name, limits = {}) => post(`${pathOf(name)}/resume`, { body: limits }),
  };
}
