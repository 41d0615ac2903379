import { EventEmitter } from 'node:events';
import {
  type AckFrame,
  type Assignment,
  type CoordinatorFrame,
  closeCodes,
  features,
  type HelloFrame,
  refusalCodes,
  type WelcomeFrame,
  type WireLease,
  type WorkerFrame,
} from '../domain/workerProtocol.ts';
import { AdvertisedModels } from './advertisedModels.ts';
import { Connection } from './connection.ts';
import { dialWebSocket } from './dial.ts';
import { type Disconnection, socketUrl } from './disconnection.ts';
import type { WorkerEvents } from './events.ts';
import { Heartbeat } from './heartbeat.ts';
import { HeldLeases } from './heldLeases.ts';
import { freeOf, ModelList } from './models.ts';
import { uuid } from './uuid.ts';
import type { DrainResult, Offer, WorkerOptions } from './workerOptions.ts';

const refusals: readonly string[] = Object.values(refusalCodes);
const staleSecondsDefault = 120;
/** How long a drain waits for acknowledgements beyond its grace. */
const ackGraceMs = 5000;

/**
 * One worker: takes assignments from a coordinator, runs them with its providers, and delivers every outcome until it
 * is acknowledged, over as many connections as that takes. Neither frames nor providers can make it throw. Used by `svc
 * worker`, and inside other programs.
 */
export class Worker extends EventEmitter<WorkerEvents> {
  #options: WorkerOptions;
  readonly #instance: string;
  readonly #models: AdvertisedModels;
  readonly #connection: Connection;
  readonly #leases: HeldLeases;
  readonly #heartbeat: Heartbeat;
  readonly #end = Promise.withResolvers<void>();
  #concurrency: number;
  #paused = false;
  #isHeld = false;
  #state: 'new' | 'running' | 'draining' | 'stopped' = 'new';
  #drained: Promise<DrainResult> | null = null;

  /** @throws TypeError when the coordinator's address is invalid. */
  constructor(options: WorkerOptions) {
    super();
    const { name, coordinatorUrl, apiKey, providers, clock, random, logger } = options;
    this.#options = options;
    this.#instance = options.instance ?? uuid(random);
    this.#concurrency = options.concurrency;
    this.#models = new AdvertisedModels(new ModelList(providers));
    this.#heartbeat = new Heartbeat(clock, (options.staleSeconds ?? staleSecondsDefault) * 1000, {
      beat: () => this.#beat(),
      onSilence: () => this.#connection.abandon('the coordinator has been silent for three heartbeats'),
      onStale: () => this.#fence(),
    });
    this.#connection = new Connection({
      url: socketUrl(coordinatorUrl),
      apiKey,
      name,
      clock,
      random,
      dial: options.dial ?? dialWebSocket,
      owner: {
        hello: () => {
          this.#models.sent();
          return this.#hello();
        },
        onWelcome: (frame) => this.#onWelcome(frame),
        onFrame: (frame) => this.#onFrame(frame),
        onDown: (code, retryMs) => this.#onDown(code, retryMs),
        onProblem: (problem, retryMs) => this.#onProblem(problem, retryMs),
        onActivity: () => this.#heartbeat.active(),
      },
    });
    this.#leases = new HeldLeases({
      providers,
      clock,
      logger,
      wire: this.#connection,
      owner: {
        slots: () => this.#concurrency,
        onFinished: (event) => this.#emit('finished', event),
        notice: (level, message) => this.notice(level, message),
      },
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** The number of running jobs. */
  get running(): number {
    return this.#leases.running;
  }

  /** Outcomes without an acknowledgement. */
  get undelivered(): number {
    return this.#leases.undelivered;
  }

  get isConnected(): boolean {
    return this.#connection.isWelcomed;
  }

  /**
   * Request the providers' models, then connect. Resolves when the first attempt has begun; `untilConnected` resolves
   * when it succeeded.
   * @throws ProviderUnreachable when a local server does not answer; nothing was started then.
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error(`the worker ${this.name} was started before`);
    this.#state = 'running';
    try {
      await this.#models.load();
    } catch (error) {
      this.#state = 'new';
      throw error;
    }
    // It may have been stopped while the providers were requested.
    if (this.#state === 'running') this.#connection.open();
  }

  /** The models of each provider when last requested; a provider that takes any name is absent. */
  get models(): Readonly<Record<string, readonly string[]>> {
    return this.#models.current;
  }

  /**
   * Change the offer. Running jobs continue unchanged. The coordinator learns it from a new hello, over a new
   * connection; changes that do not concern it interrupt nothing.
   * @throws ProviderUnreachable when a local server does not answer; nothing has changed then.
   */
  async reconfigure(offer: Offer): Promise<void> {
    const models = new ModelList(offer.providers);
    await models.load();
    const before = this.#hello();
    this.#options = { ...this.#options, ...offer };
    this.#models.replace(models);
    this.#leases.setProviders(offer.providers);
    this.#heartbeat.setStale((offer.staleSeconds ?? staleSecondsDefault) * 1000);
    if (JSON.stringify(before) !== JSON.stringify(this.#hello()) && this.#state === 'running') {
      this.#connection.renew('the settings have changed');
    }
  }

  /** The key has changed: use it at once. Running jobs continue, and are claimed over the new connection. */
  renewKey(): void {
    if (this.#state !== 'running') return;
    this.#connection.renew('the key has changed');
    this.#connection.retryNow();
  }

  /**
   * Take no more work and stay connected, or take it again. Running jobs continue. Unlike a concurrency of 0 it also holds
   * where an operator has resized the worker.
   */
  hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    if (isHeld) {
      this.#send({ type: 'drain' });
      this.#leases.recall();
    }
    // Only a new connection ends a drain.
    else if (this.#state === 'running') this.#connection.renew('takes work again');
  }

  /** Emit a notice about this worker, and log it. */
  notice(level: 'info' | 'warn' | 'error', message: string): void {
    this.#options.logger[level]({ worker: this.name }, message);
    this.#emit('notice', { level, message });
  }

  /** Resolves at the next welcome, at once when connected. Never resolves if the worker is stopped first. */
  untilConnected(): Promise<void> {
    if (this.isConnected) return Promise.resolve();
    return new Promise((resolve) => this.once('connected', () => resolve()));
  }

  /** If it waits for the next attempt, make it now, for instance because there is a new key. */
  retryNow(): void {
    this.#connection.retryNow();
  }

  /**
   * Take no more work, finish running jobs within `graceMs`, release the rest, wait until everything is acknowledged
   * (five seconds longer at most), and close. A second call returns the same promise; `stop` cuts it short.
   */
  drain(graceMs: number): Promise<DrainResult> {
    this.#drained ??= this.#drain(graceMs);
    return this.#drained;
  }

  /** Stop at once: abort running jobs, report nothing, close. The coordinator gives them to others. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    // Only after a complete drain no lease is left here.
    const code = this.#leases.held().length === 0 ? closeCodes.goingAway : closeCodes.normal;
    this.#end.resolve();
    this.#heartbeat.stop();
    this.#leases.close();
    await this.#connection.close(code, 'stopped');
    this.#emit('stopped');
  }

  async #drain(graceMs: number): Promise<DrainResult> {
    if (this.#state === 'running') {
      this.#state = 'draining';
      this.#emit('draining');
      this.#send({ type: 'drain' });
      this.#leases.recall();
      const { clock } = this.#options;
      const begun = clock.monotonic();
      await this.#within(graceMs, this.#leases.idle());
      this.#leases.stopAll('given back');
      // The executor's own grace for adapters bounds this wait.
      await Promise.race([this.#leases.idle(), this.#end.promise]);
      const left = Math.max(0, begun + graceMs - clock.monotonic());
      await this.#within(left + ackGraceMs, this.#leases.delivered());
    }
    const { undelivered } = this.#leases;
    if (undelivered > 0) {
      this.notice('error', `stopped with ${undelivered} outcomes that the coordinator did not acknowledge`);
    }
    await this.stop();
    return { undelivered };
  }

  /** Resolves when `work` is done, after `ms`, or when the worker is stopped, whichever is first. */
  async #within(ms: number, work: Promise<void>): Promise<void> {
    const time = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(ms, time.resolve);
    await Promise.race([work, time.promise, this.#end.promise]);
    cancel();
  }

  #hello(): HelloFrame {
    const { name, kind, providers, tags, concurrency, version, host } = this.#options;
    return {
      type: 'hello',
      name,
      kind,
      providers: providers.map((provider) => provider.name),
      models: this.#models.current,
      tags: tags && [...tags],
      concurrency,
      version,
      host,
      instance: this.#instance,
      running: this.#leases.held(),
      free: freeOf(providers),
      features: Object.values(features),
    };
  }

  #onWelcome(frame: WelcomeFrame): void {
    this.#paused = frame.paused;
    this.#concurrency = frame.concurrency;
    this.#heartbeat.up(frame.heartbeat_interval_seconds * 1000);
    this.#leases.setFeatures(frame.features ?? []);
    this.#stopLost(frame.lost);
    if (this.#state === 'draining' || this.#isHeld) this.#send({ type: 'drain' });
    const { running, undelivered } = this;
    this.#leases.sendAgain();
    const workerId = frame.worker_id;
    this.#options.logger.info({ worker: this.name, workerId, running, undelivered }, 'connected');
    this.#emit('connected', { workerId, paused: frame.paused, concurrency: frame.concurrency });
  }

  #onFrame(frame: Exclude<CoordinatorFrame, WelcomeFrame>): void {
    switch (frame.type) {
      case 'assign':
        for (const job of frame.jobs) this.#take(job);
        break;
      case 'ack':
        this.#onAck(frame);
        break;
      case 'acks':
        for (const ack of frame.acks) this.#onAck(ack);
        break;
      case 'abort':
        this.#leases.stop(frame);
        break;
      case 'heartbeat_ack':
        this.#heartbeat.answered();
        this.#stopLost(frame.lost);
        break;
      case 'settings':
        this.#paused = frame.paused ?? this.#paused;
        this.#concurrency = frame.concurrency ?? this.#concurrency;
        if (this.#paused) this.#leases.recall();
        else this.#leases.fillSlots();
        this.#emit('settings', { paused: this.#paused, concurrency: this.#concurrency });
        break;
      case 'recall':
        this.#leases.recall();
        break;
      case 'error':
        // The close that follows reports it.
        if (refusals.includes(frame.code)) break;
        this.notice('warn', `the coordinator reports: ${frame.code}: ${frame.message.slice(0, 200)}`);
        break;
    }
  }

  #take(job: Assignment): void {
    if (this.#leases.has(job)) {
      this.notice('warn', `the lease ${job.lease} of job ${job.job_id} was assigned twice`);
      return;
    }
    if (this.#state !== 'running' || this.#isHeld) {
      this.#leases.giveBack(job);
      return;
    }
    const { job_id: jobId, lease, provider, model } = job;
    this.#emit('assigned', { jobId, lease, provider, model });
    this.#leases.run(job);
  }

  #onAck(ack: Omit<AckFrame, 'type'>): void {
    const isLoss = this.#leases.onAck(ack);
    const { job_id: jobId, lease, accepted, reason } = ack;
    if (isLoss) this.#options.logger.info({ jobId, lease, reason }, 'an outcome was refused');
    this.#emit('acknowledged', { jobId, lease, accepted, reason });
  }

  /**
   * Leases that this worker has lost. Running jobs are stopped, and report their usage. A finished outcome stays: if no
   * other attempt finished first, the coordinator accepts even a late result.
   */
  #stopLost(lost: readonly WireLease[]): void {
    for (const of of lost) this.#leases.stop(of);
  }

  #beat(): void {
    const models = this.#models.changed;
    if (!this.#send({ type: 'heartbeat', running: this.#leases.held(), models })) return;
    this.#models.sent();
    void this.#models.refresh((problem) => this.notice('warn', problem));
  }

  #fence(): void {
    const stopped = this.#leases.stopAll('given back');
    if (stopped > 0) {
      this.notice(
        'error',
        `no heartbeat was answered within the stale time: stopped ${stopped} jobs, which other workers may now run`,
      );
    }
    this.#emit('fenced', { stopped });
  }

  #onDown(code: number, retryMs: number): void {
    this.#heartbeat.down();
    // Its jobs were lost with the key: the coordinator has failed them all, and further usage would be paid for
    // nothing.
    if (code === closeCodes.keyRefused) this.#leases.stopAll('ordered');
    this.#emit('disconnected', { code, retryMs });
  }

  #onProblem(problem: Disconnection, retryMs: number): void {
    const again = retryMs > 0 ? `; trying again in ${(retryMs / 1000).toFixed(1)} s` : '';
    this.notice(problem.level, `${problem.message}${again}`);
    if (problem.setback === 'refused') this.#emit('unauthorized');
  }

  #send(frame: WorkerFrame): boolean {
    return this.#connection.send(JSON.stringify(frame));
  }

  /** A throwing listener must not end the worker. */
  #emit<K extends keyof WorkerEvents>(
    event: K,
    ...details: K extends keyof WorkerEvents ? WorkerEvents[K] : never
  ): void {
    try {
      this.emit(event, ...details);
    } catch (error) {
      this.#options.logger.error({ worker: this.name, event, err: error }, 'a listener threw');
    }
  }
}
