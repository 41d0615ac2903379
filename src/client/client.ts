import type { BreakdownName, PeriodName } from '../domain/costReport.ts';
import type { StatsRange } from '../domain/stats.ts';
import type { WireAuditList } from '../domain/wire/audit.ts';
import type { WireConfig, WireConfigReload } from '../domain/wire/config.ts';
import type { WireCostBreakdown, WireCostSummary } from '../domain/wire/cost.ts';
import type { WireHealth } from '../domain/wire/health.ts';
import type { Iso } from '../domain/wire/iso.ts';
import type {
  BulkBody,
  DispatchBody,
  WireBatch,
  WireBulk,
  WireJob,
  WireJobHistory,
  WireJobList,
} from '../domain/wire/job.ts';
import type {
  CreateKeyBody,
  WireKey,
  WireKeyBounds,
  WireKeyList,
  WireNewKey,
  WireNewSession,
  WireSession,
  WireSessionList,
  WireTicket,
} from '../domain/wire/key.ts';
import type { WireInspection, WireMachineList } from '../domain/wire/machine.ts';
import type { WireProvider, WireProviderList } from '../domain/wire/provider.ts';
import type { WireQueue } from '../domain/wire/queue.ts';
import type { WireRouteExplanation } from '../domain/wire/routing.ts';
import type { WireStats, WireStatsHistory } from '../domain/wire/stats.ts';
import type { WireWorker, WireWorkerList } from '../domain/wire/worker.ts';
import { type JobFilters, queryOf } from './filters.ts';
import { type FollowOptions, followToEnd } from './follow.ts';
import { ask, askEvents, askLines, type Call, type Connection } from './request.ts';
import { createRunClient, type RunClient } from './runs.ts';
import { type WaitOptions, waitForEnd } from './wait.ts';
import { createWebhookClient, type WebhookClient } from './webhooks.ts';

export { ApiError, Unreachable, WaitTimedOut } from './errors.ts';
export { bulkFilter, type JobFilters } from './filters.ts';
export type { FollowOptions, OutputPart } from './follow.ts';
export { hasEnded, type WaitOptions } from './wait.ts';

export interface ClientOptions {
  /** `http://127.0.0.1:7420`. */
  baseUrl: string;
  /** null: no key; only `health` works then. */
  apiKey: string | null;
  /** For tests and special runtimes. */
  fetch?: typeof globalThis.fetch | undefined;
  /** The name under which the coordinator lists who uses the key; that of the runtime unless given. */
  userAgent?: string | undefined;
  /** Milliseconds for an answer, without the wait. Default 30,000. */
  timeoutMs?: number | undefined;
}

/** The filters of an export: those of a list without its page. */
export interface ExportFilters extends Omit<JobFilters, 'include' | 'limit' | 'offset'> {
  /** Whether to include archived jobs. */
  archived?: boolean | undefined;
}

/** The filters of the audit log; at most 1,000 entries, 50 by default. */
export interface AuditFilters {
  /** ISO 8601, inclusive. */
  since?: Iso | undefined;
  /** ISO 8601, exclusive. */
  until?: Iso | undefined;
  /** Name or id of a key. */
  actor?: string | undefined;
  /** Several with commas. */
  action?: string | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

/** A calendar period up to now, by default the current day in UTC; or the days `from` to `to`. */
export interface CostPeriod {
  period?: PeriodName | undefined;
  /** First and last day, as 2026-11-21, instead of `period`. */
  from?: string | undefined;
  to?: string | undefined;
  /** IANA name. */
  tz?: string | undefined;
}

/**
 * The public API as functions. All throw ApiError when the coordinator refuses and Unreachable without an answer;
 * nothing is retried, except by `waitFor` and `follow`.
 */
export interface Client extends RunClient, WebhookClient {
  readonly baseUrl: string;
  health(): Promise<WireHealth>;
  /** `waitSeconds`, 0..300: answer only when the job has ended or the time is over. */
  dispatch(body: DispatchBody, options?: { idempotencyKey?: string; waitSeconds?: number }): Promise<WireJob>;
  /** All of them or none, in one commit: 1 to 10,000 jobs. Returns their ids, in order. */
  dispatchBatch(jobs: readonly DispatchBody[], options?: { idempotencyKey?: string }): Promise<WireBatch>;
  job(id: string, options?: { waitSeconds?: number; signal?: AbortSignal | undefined }): Promise<WireJob>;
  /** The states of a job so far, oldest first. */
  jobHistory(id: string): Promise<WireJobHistory>;
  /** Newest first; a page has 8 MiB at most, see `next_offset`. */
  jobs(filters?: JobFilters, signal?: AbortSignal): Promise<WireJobList>;
  /** Every job, whole, streamed at the caller's pace: newest first, then the archived ones. */
  exportJobs(filters?: ExportFilters): AsyncGenerator<WireJob>;
  cancel(id: string): Promise<WireJob>;
  retry(id: string): Promise<WireJob>;
  /** Up to 1,000 at a time; `has_more` tells whether to repeat the request. */
  cancelMany(jobs: BulkBody): Promise<WireBulk>;
  retryMany(jobs: BulkBody): Promise<WireBulk>;
  /** All of them, however many pages that takes. */
  workers(): Promise<WireWorkerList>;
  worker(id: string): Promise<WireWorker>;
  pauseWorker(id: string): Promise<WireWorker>;
  resumeWorker(id: string): Promise<WireWorker>;
  /** Jobs at a time, 0 for none. */
  resizeWorker(id: string, concurrency: number): Promise<WireWorker>;
  /** Only one that is not connected. */
  forgetWorker(id: string): Promise<WireWorker>;
  providers(): Promise<WireProviderList>;
  /** Make it available again at once. */
  resetProvider(name: string): Promise<WireProvider>;
  /** Assign no jobs from now on; running ones continue. `reason` is for people. */
  pauseQueue(reason?: string): Promise<WireQueue>;
  resumeQueue(): Promise<WireQueue>;
  /** Where a job would run, and why; creates none. */
  explainRoute(body: DispatchBody): Promise<WireRouteExplanation>;
  stats(): Promise<WireStats>;
  /** The last hour in steps of 10 s, day of 1 min, or week of 10 min; `after` skips known steps. */
  statsHistory(range?: StatsRange, after?: Iso): Promise<WireStatsHistory>;
  machines(): Promise<WireMachineList>;
  /** What the actors did recently; empty unless the coordinator was started with `--inspect`. */
  inspection(): Promise<WireInspection>;
  /** Newest first. */
  audit(filters?: AuditFilters, signal?: AbortSignal): Promise<WireAuditList>;
  keys(): Promise<WireKeyList>;
  createKey(key: CreateKeyBody): Promise<WireNewKey>;
  /** Only for the role `worker`; absent bounds stay unchanged. */
  changeKey(id: string, bounds: Partial<WireKeyBounds>): Promise<WireKey>;
  /** `graceSeconds`: how long the old secret remains valid. */
  rotateKey(id: string, graceSeconds?: number): Promise<WireNewKey>;
  revokeKey(id: string): Promise<WireKey>;
  /** A separate key for a browser, with the role of the requesting key; its secret is returned only this once. */
  createSession(): Promise<WireNewSession>;
  /** Those of the requesting key; for admins those of every key. */
  sessions(): Promise<WireSessionList>;
  /** @param id `current`: the session of the request. */
  endSession(id: string): Promise<WireSession>;
  /** For one live connection from a browser, within 30 seconds. */
  ticket(): Promise<WireTicket>;
  config(): Promise<WireConfig>;
  reloadConfig(): Promise<WireConfigReload>;
  costSummary(period?: CostPeriod): Promise<WireCostSummary>;
  /** By provider by default. */
  costBreakdown(period?: CostPeriod & { by?: BreakdownName | undefined }): Promise<WireCostBreakdown>;
  /**
   * The job, once it has ended. Survives a restart of the coordinator.
   * @throws WaitTimedOut after `timeoutSeconds`; the job continues then.
   */
  waitFor(id: string, options?: WaitOptions): Promise<WireJob>;
  /**
   * The job, once it has ended, and before that every change of its state and its output as it is generated, by the
   * job's event stream. Survives a restart of the coordinator.
   * @throws as `waitFor`.
   */
  follow(id: string, options?: FollowOptions): Promise<WireJob>;
}

const timeoutMsDefault = 30_000;
/** Between two parts of an export: matches of rare filters may be far apart. Node's fetch gives up after 300 s. */
const exportPartMs = 290_000;
/** The coordinator sends something on an event stream at least every 20 s. */
const eventsPartMs = 45_000;
/** The API waits for 300 s, but Node's fetch gives up on an answer that has not begun by then. */
const waitSecondsMax = 290;

/**
 * A client of the coordinator at `baseUrl`. Longer than 60 lines because it is one entry per request. @throws TypeError
 * when that is not an http address.
 */
export function createClient({
  baseUrl,
  apiKey,
  fetch,
  timeoutMs = timeoutMsDefault,
  userAgent,
}: ClientOptions): Client {
  const connection: Connection = {
    baseUrl: plainUrl(baseUrl),
    apiKey,
    fetch: fetch ?? globalThis.fetch,
    userAgent: userAgent ?? null,
  };
  const get = <T>(path: string, call: Partial<Call> = {}): Promise<T> =>
    ask<T>(connection, { timeoutMs, path, ...call });
  const post = <T>(path: string, call: Partial<Call> = {}): Promise<T> =>
    get<T>(path, { method: 'POST', ...call });
  const wait = (seconds: number | undefined): Pick<Call, 'query' | 'timeoutMs'> => {
    const asked = Math.min(Math.floor(seconds ?? 0), waitSecondsMax);
    return { timeoutMs: timeoutMs + asked * 1000, query: { wait: asked > 0 ? asked : undefined } };
  };
  const jobPath = (id: string): string => `/api/jobs/${encodeURIComponent(id)}`;
  const workerPath = (id: string): string => `/api/workers/${encodeURIComponent(id)}`;
  const keyPath = (id: string): string => `/api/keys/${encodeURIComponent(id)}`;
  const job: Client['job'] = (id, { waitSeconds, signal } = {}) =>
    get(jobPath(id), { ...wait(waitSeconds), signal });

  return {
    baseUrl: connection.baseUrl,
    ...createRunClient(connection, timeoutMs),
    ...createWebhookClient(connection, timeoutMs),
    health: () => get('/health'),
    dispatch: (body, { idempotencyKey, waitSeconds } = {}) =>
      post('/api/jobs', { ...wait(waitSeconds), body, headers: keyHeader(idempotencyKey) }),
    dispatchBatch: (jobs, { idempotencyKey } = {}) =>
      post('/api/jobs/batch', { body: { jobs }, headers: keyHeader(idempotencyKey) }),
    job,
    jobHistory: (id) => get(`${jobPath(id)}/history`),
    jobs: (filters = {}, signal) => get('/api/jobs', { query: queryOf(filters), signal }),
    exportJobs: ({ archived, ...filters } = {}) => {
      const query = { ...queryOf(filters), archived: archived === true ? 'true' : undefined };
      return askLines(connection, { timeoutMs: exportPartMs, path: '/api/jobs/export', query });
    },
    cancel: (id) => post(`${jobPath(id)}/cancel`),
    retry: (id) => post(`${jobPath(id)}/retry`),
    cancelMany: (jobs) => post('/api/jobs/cancel', { body: jobs }),
    retryMany: (jobs) => post('/api/jobs/retry', { body: jobs }),
    workers: async () => {
      const workers: WireWorker[] = [];
      for (;;) {
        const offset = workers.length === 0 ? undefined : workers.length;
        const page = await get<WireWorkerList>('/api/workers', { query: { offset } });
        workers.push(...page.workers);
        if (page.next_offset === undefined) return { workers, total: page.total };
      }
    },
    worker: (id) => get(workerPath(id)),
    pauseWorker: (id) => post(`${workerPath(id)}/pause`),
    resumeWorker: (id) => post(`${workerPath(id)}/resume`),
    resizeWorker: (id, concurrency) => get(workerPath(id), { method: 'PATCH', body: { concurrency } }),
    forgetWorker: (id) => get(workerPath(id), { method: 'DELETE' }),
    providers: () => get('/api/providers'),
    resetProvider: (name) => post(`/api/providers/${encodeURIComponent(name)}/reset`),
    pauseQueue: (reason) => post('/api/queue/pause', { body: reason === undefined ? undefined : { reason } }),
    resumeQueue: () => post('/api/queue/resume'),
    explainRoute: (body) => post('/api/route/explain', { body }),
    stats: () => get('/api/stats'),
    statsHistory: (range, after) => get('/api/stats/history', { query: { range, after } }),
    machines: () => get('/api/machines'),
    inspection: () => get('/api/inspect'),
    audit: (filters = {}, signal) => get('/api/audit', { query: { ...filters }, signal }),
    keys: () => get('/api/keys'),
    createKey: (key) => post('/api/keys', { body: key }),
    changeKey: (id, bounds) => get(keyPath(id), { method: 'PATCH', body: bounds }),
    rotateKey: (id, graceSeconds) => {
      const body = graceSeconds === undefined ? undefined : { grace_seconds: graceSeconds };
      return post(`${keyPath(id)}/rotate`, { body });
    },
    revokeKey: (id) => get(keyPath(id), { method: 'DELETE' }),
    createSession: () => post('/api/sessions'),
    sessions: () => get('/api/sessions'),
    endSession: (id) => get(`/api/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    ticket: () => post('/api/tickets'),
    config: () => get('/api/config'),
    reloadConfig: () => post('/api/config/reload'),
    costSummary: (period = {}) => get('/api/cost/summary', { query: { ...period } }),
    costBreakdown: (period = {}) => get('/api/cost/breakdown', { query: { ...period } }),
    waitFor: (id, options = {}) => {
      return waitForEnd(id, (waitSeconds, signal) => job(id, { waitSeconds, signal }), options);
    },
    follow: (id, options = {}) => {
      const events = (lastEventId: string | null, signal: AbortSignal | undefined) => {
        const headers = lastEventId === null ? {} : { 'last-event-id': lastEventId };
        return askEvents(connection, {
          timeoutMs: eventsPartMs,
          path: `${jobPath(id)}/events`,
          headers,
          signal,
        });
      };
      return followToEnd(id, { events, job: (signal) => job(id, { signal }) }, options);
    },
  };
}

function keyHeader(idempotencyKey: string | undefined): Record<string, string> {
  return idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
}

function plainUrl(url: string): string {
  const { protocol, href } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new TypeError(`${url} is no http or https address`);
  return href.replace(/\/+$/, '');
}
