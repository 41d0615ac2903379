import type { Config } from '../config/config.ts';
import type { Reloaded } from '../config/liveConfig.ts';
import type { Doer } from '../domain/audit.ts';
import type { BreakdownName, CostBreakdown, CostSpan, CostSummary } from '../domain/costReport.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { JobRecord, JobRequest, OpenRequest } from '../domain/job.ts';
import type { Principal } from '../domain/key.ts';
import type { MachineCounts } from '../domain/machine.ts';
import type { ProviderView } from '../domain/provider.ts';
import type { QueueState } from '../domain/queue.ts';
import { isTerminal, type SupervisorStatus, statusOf } from '../domain/states.ts';
import type { Stats, StatsHistory, StatsRange } from '../domain/stats.ts';
import type { Waiting } from '../domain/waiting.ts';
import type { WorkerKey, WorkerOwner, WorkerView } from '../domain/worker.ts';
import type { Logger } from '../lib/log.ts';
import type { JobCounts, JobFilter, JobPage, JobQuery, Store, StoreHealth } from '../store/store.ts';
import type { Batches } from './batches/index.ts';
import type { Audit, EventBus, Follower, Inspector } from './core/index.ts';
import { explainRoute, type RouteExplanation } from './dispatch/index.ts';
import type { FileShelf } from './files/index.ts';
import { servedBy, type WorkerConnection, type WorkerLink } from './fleet/index.ts';
import { type Annotations, findJob, type PlannedRequest, planOrRefuse } from './jobs/index.ts';
import { costBreakdown, costSummary, countMachines, takeStats } from './observe/index.ts';
import { type CoordinatorOptions, createParts, type Parts } from './parts.ts';
import type { Runs } from './runs/index.ts';
import type { Spools } from './spools/index.ts';
import type { Webhooks } from './webhooks/index.ts';

/** After a restart a worker has this many heartbeat intervals to come back before its jobs count as stuck. */
const returnIntervals = 2.5;

/** What only the coordinator's memory knows of a job. */
export interface JobView {
  job: JobRecord;
  /** null unless it is pending. */
  waiting: Waiting | null;
  /** Epoch ms of the last heartbeat that listed it. */
  heartbeatAt: number | null;
}

/**
 * Makes it happen: hosts the actors, commits their changes, hands out work and watches the deadlines. Everything that
 * reaches it from outside (routes, frames, the command line) is one method here.
 */
export class Coordinator {
  readonly bus: EventBus;
  /** Who did what. */
  readonly audit: Audit;
  readonly runs: Runs;
  readonly annotations: Annotations;
  /** What clients have uploaded, and batches written. */
  readonly files: FileShelf;
  readonly batches: Batches;
  readonly spools: Spools;
  readonly webhooks: Webhooks;
  /** Sees every actor; null unless the coordinator was started for it. */
  readonly inspector: Inspector | null;
  readonly #config: () => Config;
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #parts: Parts;

  constructor(options: CoordinatorOptions) {
    const { config, store, logger } = options;
    this.#config = config;
    this.#store = store;
    this.#logger = logger;
    this.#parts = createParts(options);
    ({ bus: this.bus, audit: this.audit, inspector: this.inspector } = this.#parts);
    ({ runDoor: this.runs, annotations: this.annotations, webhooks: this.webhooks } = this.#parts);
    ({ files: this.files, batches: this.batches, spools: this.spools } = this.#parts);
  }

  /**
   * Open the store, take up the leases of what was running, accept jobs. A queue that was paused is paused again.
   * @throws StoreLocked, StoreCorrupt, StoreFormatTooNew.
   */
  async start(): Promise<void> {
    const { supervisor, dispatcher, deadlines, pending } = this.#parts;
    supervisor.start({
      pass: () => dispatcher.pass(),
      hasWork: () => pending.total > 0,
      sweep: () => deadlines.sweep(),
      giveGrace: (lateMs) => this.#afterStall(lateMs),
    });
    await this.#store.open();
    for (const part of this.#parts.restored) await part.open();
    await this.#parts.providers.open(this.#returnMs());
    await this.#parts.pending.open(this.#store);
    await this.#parts.runs.open(this.#store);
    const running = await this.#store.runningJobs();
    for (const job of running) {
      this.#parts.host.adopt(job);
      this.#parts.keeper.adopt(job);
    }
    for (const job of await this.#store.delayedJobs()) this.#parts.delays.follow(job);
    this.#parts.connections.expectReturns(this.#returnMs());
    for (const duty of this.#parts.duties) duty.start();
    const { paused } = this.queue;
    supervisor.recovered(paused);
    this.#parts.runWatch.open();
    this.#logger.info(
      { running: running.length, pending: this.#parts.pending.total, paused },
      'coordinator accepts jobs',
    );
  }

  get status(): SupervisorStatus {
    return this.#parts.supervisor.status;
  }

  storeHealth(): StoreHealth {
    return this.#store.health();
  }

  /** Jobs that connected workers hold: what a drain waits for. */
  heldByConnected(): number {
    return this.#parts.connections.held();
  }

  /**
   * No new jobs, no assignments; results are taken. Resolves when the leases of connected workers have ended, or after
   * `graceMs`.
   */
  async drain(graceMs: number): Promise<void> {
    this.#parts.supervisor.drain();
    await this.#parts.connections.drained(graceMs);
    await this.#parts.supervisor.idle();
  }

  /**
   * Close all connections: workers are asked to connect again later (what still runs stays running in the store, and they
   * deliver then), and requests that wait for a job are answered with the job as it is.
   */
  dismiss(): void {
    this.#parts.waits.endAll();
    this.#parts.connections.dismiss();
  }

  /** Let go of everything. */
  async close(): Promise<void> {
    this.dismiss();
    const { runWatch, batchWatch, duties, deadlines, host, workers, providers } = this.#parts;
    await batchWatch.close();
    for (const part of [runWatch, ...duties, deadlines, host, workers]) part.close();
    await providers.close();
    await this.audit.flush();
    await this.#store.close();
    this.#parts.supervisor.stop();
  }

  /**
   * Accept a job. Resolves when it is durable.
   * @param by whose key sends it; it is recorded with the job, and held to its share of pending jobs.
   * @throws CoordinatorError draining, queue_full, share_exceeded, invalid_request (nothing names a provider);
   * StoreUnavailable.
   */
  async dispatch(request: JobRequest, by: Principal | null = null): Promise<JobView> {
    return this.view(await this.#parts.intake.accept(request, by));
  }

  /**
   * Accept a job unless its idempotency key was used within the last day; then the first job is the answer.
   * @throws CoordinatorError idempotency_conflict when the key stands for another request; as `dispatch` otherwise.
   */
  async dispatchOnce(
    key: string,
    request: JobRequest | OpenRequest,
    by: Principal | null = null,
  ): Promise<{ view: JobView; isNew: boolean }> {
    const { job, isNew } = await this.#parts.intake.acceptOnce(key, request, by);
    return { view: this.view(job), isNew };
  }

  /** Where such a job may run, for `dispatchAll`. @throws CoordinatorError invalid_request when nothing names a provider. */
  plan(request: JobRequest): PlannedRequest {
    return this.#parts.planned(request);
  }

  /** Accept all of the jobs in one commit, or none of them. @throws CoordinatorError and StoreUnavailable as `dispatch`. */
  dispatchAll(planned: readonly PlannedRequest[], by: Principal | null = null): Promise<JobRecord[]> {
    return this.#parts.intake.acceptAll(planned, by);
  }

  /**
   * Accept all of the jobs unless their idempotency key was used within the last day; then the first ones are the answer.
   * @throws CoordinatorError idempotency_conflict when the key stands for other requests; as `dispatchAll` otherwise.
   */
  dispatchAllOnce(
    key: string,
    planned: readonly PlannedRequest[],
    by: Principal | null = null,
  ): Promise<{ jobs: JobRecord[]; isNew: boolean }> {
    return this.#parts.intake.acceptAllOnce(key, planned, by);
  }

  /** Also one that was archived. @throws CoordinatorError job_not_found; StoreUnavailable. */
  async job(id: string): Promise<JobView> {
    const view = this.view(await findJob(this.#store, id));
    if (view.waiting !== null) view.waiting.position = await this.#store.position(id);
    return view;
  }

  /** The job when it has ended, or as it is after `waitMs`. @throws CoordinatorError job_not_found. */
  async jobAtEnd(id: string, waitMs: number, signal: AbortSignal): Promise<JobView> {
    await this.#parts.waits.untilEnd(id, waitMs, signal, async () =>
      isTerminal((await this.job(id)).job.state),
    );
    return this.job(id);
  }

  /** @param signal ends a long search when nobody waits for it any more. */
  async jobs(query: JobQuery, signal?: AbortSignal): Promise<JobPage> {
    return this.#store.jobs(this.runs.inFilter(query), signal);
  }

  /** Every job that the filter takes, in batches, see `Store.scan`. @throws StoreUnavailable, also half way. */
  scan(filter: JobFilter, isArchivedToo: boolean): AsyncGenerator<JobRecord[]> {
    return this.#store.scan(this.runs.inFilter(filter), isArchivedToo);
  }

  /** @throws CoordinatorError job_not_found; InvalidTransition when it has ended; StoreUnavailable. */
  async cancel(id: string): Promise<JobView> {
    return this.view(await this.#parts.commands.cancel(id));
  }

  /** @throws CoordinatorError job_not_found; InvalidTransition unless failed or stuck; StoreUnavailable. */
  async retry(id: string): Promise<JobView> {
    return this.view(await this.#parts.commands.retry(id));
  }

  counts(): Promise<JobCounts> {
    return this.#store.counts();
  }

  /** Show every change of a job to `observer` as it becomes durable: to measure, so be quick. The returned function ends it. */
  observe(observer: Follower): () => void {
    return this.#parts.changes.observe(observer);
  }

  /** The last hour, day or week in steps, see `Course`. @param after epoch ms; only later ones. */
  statsHistory(range: StatsRange, after: number | null): StatsHistory {
    return this.#parts.course.read(range, after);
  }

  /** Everything in figures, at this moment: some 50 µs, however many jobs there are. */
  stats(): Promise<Stats> {
    return takeStats(this.#parts.figures);
  }

  /** What was spent in the running calendar period of a zone (IANA name). Its cost does not grow with the jobs. */
  costSummary(span: CostSpan, zone: string): Promise<CostSummary> {
    return costSummary(this.#parts.figures, span, zone);
  }

  /** The same by provider, model, worker, tag or tier. */
  costBreakdown(by: BreakdownName, span: CostSpan, zone: string): Promise<CostBreakdown> {
    return costBreakdown(this.#parts.figures, by, span, zone);
  }

  /** How many actors of each machine are in each state; a provider that has met no job yet counts as available. */
  machineCounts(): Promise<MachineCounts> {
    return countMachines(this.#parts.figures);
  }

  /** Every provider that is configured, served or was met by a job. */
  providers(): ProviderView[] {
    return this.#parts.providers.views(servedBy(this.#parts.workers.fleet()));
  }

  /**
   * Take a provider for available, whatever it was taken for: its limit and its circuit breaker start again. Durable when it
   * resolves.
   * @param by for the audit log; null keeps it out of it.
   * @throws CoordinatorError not_found when nobody has configured, served or met it; StoreUnavailable.
   */
  async resetProvider(name: string, by: Doer | null = null): Promise<ProviderView> {
    if (!this.providers().some((provider) => provider.name === name)) {
      throw new CoordinatorError('not_found', `There is no provider ${name}`);
    }
    const target = { kind: 'provider', id: name, name } as const;
    const note = { action: 'provider.reset', target, details: {}, outcome: 'done' } as const;
    return this.#parts.providers.reset(name, by === null ? [] : [this.audit.change({ by, ...note })]);
  }

  /** Whether the queue is paused, who did that last, when and why. */
  get queue(): QueueState {
    return this.#parts.queue.state;
  }

  /**
   * Hand out no more jobs: they are accepted and wait, what runs goes on. When this resolves the pause is durable and no
   * assignment is on its way any more. Changes nothing when the queue is paused.
   * @param by for the audit log; null keeps it out of it. @param reason for people, `queueReasonMax` characters at most.
   * @throws StoreUnavailable.
   */
  async pauseQueue(by: Doer | null = null, reason: string | null = null): Promise<QueueState> {
    const state = await this.#parts.queue.set(true, by, reason);
    await this.#parts.supervisor.idle();
    return state;
  }

  /** Hand out jobs again; durable when it resolves. Changes nothing when the queue is not paused. @throws StoreUnavailable. */
  resumeQueue(by: Doer | null = null): Promise<QueueState> {
    return this.#parts.queue.set(false, by, null);
  }

  workers(): Promise<WorkerView[]> {
    return this.#parts.workers.views();
  }

  /** @throws CoordinatorError worker_not_found. */
  worker(id: string): Promise<WorkerView> {
    return this.#parts.workers.view(id);
  }

  /** @param by for the audit log; null keeps it out of it. @throws CoordinatorError worker_not_found; StoreUnavailable. */
  async setWorkerPaused(id: string, paused: boolean, by: Doer | null = null): Promise<WorkerView> {
    const view = await this.#parts.workerAdmin.setPaused(id, paused, by);
    if (!paused) this.#parts.supervisor.workArrived();
    return view;
  }

  /** @throws CoordinatorError worker_not_found; StoreUnavailable. */
  async setWorkerConcurrency(id: string, concurrency: number, by: Doer | null = null): Promise<WorkerView> {
    const view = await this.#parts.workerAdmin.setConcurrency(id, concurrency, by);
    this.#parts.supervisor.workArrived();
    return view;
  }

  /** @throws CoordinatorError worker_not_found, invalid_transition while it is connected; StoreUnavailable. */
  forgetWorker(id: string, by: Doer | null = null): Promise<void> {
    return this.#parts.workerAdmin.forget(id, by);
  }

  /** Give the name of a worker that is away to another key. @throws StoreUnavailable. */
  handOverWorker(name: string, owner: WorkerOwner): Promise<void> {
    return this.#parts.registration.handOver(name, owner);
  }

  /** A worker was refused before it could say its name. @param why for people. */
  workerRefused(address: string | null, why: string): void {
    this.#parts.refusedWorkers.add(address, null, why);
  }

  /** A worker has opened a connection; its hello is yet to come. @param by for the audit log. */
  connect(link: WorkerLink, key: WorkerKey, by?: Doer): WorkerConnection {
    return this.#parts.connections.open(link, key, by);
  }

  /** The connection's socket has ended. @param code of the close frame that came, 1006 when none did. */
  disconnect(connection: WorkerConnection, code: number): void {
    this.#parts.connections.ended(connection, code);
  }

  /** Record that the configuration was read again, by the names of what changed. Never rejects: it is in force already. */
  configReloaded({ changed, needsRestart }: Reloaded, by: Doer): Promise<void> {
    return this.audit.recordDone({
      by,
      action: 'config.reloaded',
      target: { kind: 'config', id: null, name: null },
      details: { changed: changed.map(({ key }) => key), needs_restart: needsRestart },
    });
  }

  /** The configuration is another one: what was decided by the old one is looked at again. */
  configChanged(): void {
    this.#parts.keeper.rewatchAll();
    this.#parts.supervisor.workArrived();
  }

  /** What the routing would do with a job that was sent now. @throws CoordinatorError invalid_request. */
  explainRoute(request: JobRequest): RouteExplanation {
    return explainRoute(this.#parts.candidates, planOrRefuse(request, this.#config()));
  }

  /** A job with what only this process knows of it; `position` is left out. */
  view(job: JobRecord): JobView {
    const isPending = statusOf(job.state) === 'pending';
    return {
      job,
      waiting: isPending ? { ...this.#parts.waiting.explain(job), position: null } : null,
      heartbeatAt: this.#parts.leases.ofJob(job.id)?.beatWall ?? null,
    };
  }

  /** Within this time after a restart workers come back. */
  #returnMs(): number {
    return returnIntervals * this.#config().jobs.heartbeatIntervalSeconds * 1000;
  }

  #afterStall(lateMs: number): void {
    this.#logger.warn(
      { late_ms: Math.round(lateMs) },
      'the coordinator stood still; every lease gets fresh grace',
    );
    this.#parts.connections.refreshAll();
    this.#parts.keeper.refreshAll();
  }
}
