import { EventEmitter } from 'node:events';
import type { Clock, Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { WorkerKind } from '../domain/worker.ts';
import {
  type AckFrame,
  type Assignment,
  type CoordinatorFrame,
  closeCodes,
  type HelloFrame,
  refusalCodes,
  type WelcomeFrame,
  type WireLease,
  type WorkerFrame,
} from '../domain/workerProtocol.ts';
import type { Logger } from '../lib/log.ts';
import { Connection } from './connection.ts';
import { type Dial, dialWebSocket } from './dial.ts';
import type { WorkerEvents } from './events.ts';
import { Heartbeat } from './heartbeat.ts';
import { Leases } from './leases.ts';
import { freeOf, ModelList } from './models.ts';
import type { Provider } from './provider.ts';
import { socketUrl, type Trouble } from './trouble.ts';
import { uuid } from './uuid.ts';

export interface WorkerOptions {
  /** Unique among live workers. */
  name: string;
  kind: WorkerKind;
  /** http, https, ws or wss; the worker dials its `/ws/worker`. */
  coordinatorUrl: string;
  /** Asked at every attempt to connect. */
  apiKey: () => string;
  providers: readonly Provider[];
  /** Slots; 0 takes no work. */
  concurrency: number;
  tags?: readonly string[];
  version?: string;
  host?: string;
  /** A UUID per worker process: the coordinator lets the same one take over its older connection. Default: a new one. */
  instance?: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Stop what runs when no heartbeat was answered for so long; the coordinator's reap time. 0: never. Default 120. */
  staleSeconds?: number;
  /** The way to the coordinator; over the network unless told. */
  dial?: Dial;
}

/** What a worker offers, as far as it can change while it runs. */
export type Offer = Pick<WorkerOptions, 'kind' | 'providers' | 'concurrency' | 'tags' | 'staleSeconds'>;

/** What a drain left behind. */
export interface DrainResult {
  /** Outcomes that the coordinator has not acknowledged; 0 when all went well. */
  undelivered: number;
}

const refusals: readonly string[] = Object.values(refusalCodes);
const staleSecondsDefault = 120;
/** How long a drain waits for answers beyond its grace. */
const ackGraceMs = 5000;

/**
 * One worker: takes assignments from a coordinator, runs them with its providers, and delivers every outcome until it
 * is acknowledged, over as many connections as that takes. Nothing that comes over the wire or out of a provider
 * makes it throw. It is used by `svc worker`, and inside other programs.
 */
export class Worker extends EventEmitter<WorkerEvents> {
  #options: WorkerOptions;
  readonly #instance: string;
  #models: ModelList;
  readonly #connection: Connection;
  readonly #leases: Leases;
  readonly #heartbeat: Heartbeat;
  readonly #end = Promise.withResolvers<void>();
  #concurrency: number;
  #paused = false;
  #hasNewModels = false;
  /** What was said last about models that cannot be listed. */
  #modelTrouble: string | null = null;
  #state: 'new' | 'running' | 'draining' | 'stopped' = 'new';
  #drained: Promise<DrainResult> | null = null;

  /** @throws TypeError when the coordinator's address is none. */
  constructor(options: WorkerOptions) {
    super();
    const { name, coordinatorUrl, apiKey, providers, clock, random, logger } = options;
    this.#options = options;
    this.#instance = options.instance ?? uuid(random);
    this.#concurrency = options.concurrency;
    this.#models = new ModelList(providers);
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
          this.#hasNewModels = false;
          return this.#hello();
        },
        onWelcome: (frame) => this.#onWelcome(frame),
        onFrame: (frame) => this.#onFrame(frame),
        onDown: (code, retryMs) => this.#onDown(code, retryMs),
        onTrouble: (trouble, retryMs) => this.#onTrouble(trouble, retryMs),
        onHeard: () => this.#heartbeat.heard(),
      },
    });
    this.#leases = new Leases({
      providers,
      clock,
      logger,
      wire: this.#connection,
      owner: {
        onFinished: (event) => this.#tell('finished', event),
        notice: (level, message) => this.notice(level, message),
      },
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** Runs that are under way. */
  get running(): number {
    return this.#leases.running;
  }

  /** Outcomes that wait for the coordinator's answer. */
  get undelivered(): number {
    return this.#leases.undelivered;
  }

  get isConnected(): boolean {
    return this.#connection.isWelcomed;
  }

  /**
   * Ask the providers for their models, then begin to connect. Resolves when the first attempt is under way;
   * `untilConnected` tells when it worked.
   * @throws ProviderUnreachable when a local server does not answer; nothing was begun then.
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
    // Somebody may have stopped it while the providers were asked.
    if (this.#state === 'running') this.#connection.open();
  }

  /** What models each provider had when it was last asked; a provider that takes any name is absent. */
  get models(): Readonly<Record<string, readonly string[]>> {
    return this.#models.current;
  }

  /**
   * Offer something else from now on. What runs goes on as it was begun. The coordinator is told by a new hello, over a
   * new connection; a change that it need not know of breaks nothing.
   * @throws ProviderUnreachable when a local server does not answer; nothing has changed then.
   */
  async reconfigure(offer: Offer): Promise<void> {
    const models = new ModelList(offer.providers);
    await models.load();
    const before = this.#hello();
    this.#options = { ...this.#options, ...offer };
    this.#models = models;
    this.#leases.setProviders(offer.providers);
    this.#heartbeat.setStale((offer.staleSeconds ?? staleSecondsDefault) * 1000);
    if (JSON.stringify(before) !== JSON.stringify(this.#hello()) && this.#state === 'running') {
      this.#connection.renew('the settings have changed');
    }
  }

  /** Say something that concerns this worker to whoever watches it, and in the log. */
  notice(level: 'info' | 'warn' | 'error', message: string): void {
    this.#options.logger[level]({ worker: this.name }, message);
    this.#tell('notice', { level, message });
  }

  /** Resolves at the next welcome, at once when there is a connection. A worker that is stopped first never resolves it. */
  untilConnected(): Promise<void> {
    if (this.isConnected) return Promise.resolve();
    return new Promise((resolve) => this.once('connected', () => resolve()));
  }

  /** Waiting to try again? Do it now, for instance because a new key has come. */
  retryNow(): void {
    this.#connection.retryNow();
  }

  /**
   * Take no more work, finish what runs within `graceMs`, give the rest back, wait until all of it is acknowledged
   * (five seconds longer at most), and close. A second call gives the same promise; `stop` cuts it short.
   */
  drain(graceMs: number): Promise<DrainResult> {
    this.#drained ??= this.#drain(graceMs);
    return this.#drained;
  }

  /** Stop at once: abort what runs, tell nothing, close. The coordinator gives what was running to others. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    // After a drain the first says that nothing is left here.
    const code = this.#leases.held().length === 0 ? closeCodes.goingAway : closeCodes.normal;
    this.#end.resolve();
    this.#heartbeat.stop();
    this.#leases.close();
    await this.#connection.close(code, 'stopped');
    this.#tell('stopped');
  }

  async #drain(graceMs: number): Promise<DrainResult> {
    if (this.#state === 'running') {
      this.#state = 'draining';
      this.#tell('draining');
      this.#send({ type: 'drain' });
      const { clock } = this.#options;
      const begun = clock.monotonic();
      await this.#within(graceMs, this.#leases.idle());
      this.#leases.stopAll('given back');
      // The executor's own patience with adapters bounds this wait.
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

  /** Resolves when `work` is done, after `ms`, or when the worker is stopped: whichever comes first. */
  async #within(ms: number, work: Promise<void>): Promise<void> {
    const time = Promise.withResolvers<void>();
    const takeBack = this.#options.clock.after(ms, time.resolve);
    await Promise.race([work, time.promise, this.#end.promise]);
    takeBack();
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
    };
  }

  #onWelcome(frame: WelcomeFrame): void {
    this.#paused = frame.paused;
    this.#concurrency = frame.concurrency;
    this.#heartbeat.up(frame.heartbeat_interval_seconds * 1000);
    this.#stopLost(frame.lost);
    if (this.#state === 'draining') this.#send({ type: 'drain' });
    const { running, undelivered } = this;
    this.#leases.sendAgain();
    const workerId = frame.worker_id;
    this.#options.logger.info({ worker: this.name, workerId, running, undelivered }, 'connected');
    this.#tell('connected', { workerId, paused: frame.paused, concurrency: frame.concurrency });
  }

  #onFrame(frame: Exclude<CoordinatorFrame, WelcomeFrame>): void {
    switch (frame.type) {
      case 'assign':
        for (const job of frame.jobs) this.#take(job);
        break;
      case 'ack':
        this.#tellAck(frame, this.#leases.onAck(frame));
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
        this.#tell('settings', { paused: this.#paused, concurrency: this.#concurrency });
        break;
      case 'error':
        // What a close follows is told with it.
        if (refusals.includes(frame.code)) break;
        this.notice('warn', `the coordinator says: ${frame.code}: ${frame.message.slice(0, 200)}`);
        break;
    }
  }

  #take(job: Assignment): void {
    if (this.#leases.has(job)) {
      this.notice('warn', `the lease ${job.lease} of job ${job.job_id} was assigned twice`);
      return;
    }
    if (this.#state !== 'running') {
      this.#leases.giveBack(job);
      return;
    }
    if (this.running >= this.#concurrency)
      this.notice('warn', `was given more than its ${this.#concurrency} slots`);
    const { job_id: jobId, lease, provider, model } = job;
    this.#tell('assigned', { jobId, lease, provider, model });
    this.#leases.run(job);
  }

  #tellAck({ job_id: jobId, lease, accepted, reason }: AckFrame, isLoss: boolean): void {
    if (isLoss) this.#options.logger.info({ jobId, lease, reason }, 'an outcome was refused');
    this.#tell('acknowledged', { jobId, lease, accepted, reason });
  }

  /**
   * Leases that are no longer this worker's. What runs is stopped, and says what it had used. A finished outcome stays:
   * when nobody has overtaken the job, the coordinator takes even a late result.
   */
  #stopLost(lost: readonly WireLease[]): void {
    for (const of of lost) this.#leases.stop(of);
  }

  #beat(): void {
    const models = this.#hasNewModels ? this.#models.current : undefined;
    if (!this.#send({ type: 'heartbeat', running: this.#leases.held(), models })) return;
    this.#hasNewModels = false;
    this.#models.refresh().then(
      (changed) => {
        this.#hasNewModels ||= changed === true;
        if (changed !== null) this.#modelTrouble = null;
      },
      // The last list stays: a server that restarts has its models again in a moment. One that stays away is told once.
      (error: unknown) => {
        const trouble = `the models cannot be listed: ${messageOf(error).slice(0, 200)}`;
        if (trouble !== this.#modelTrouble) this.notice('warn', trouble);
        this.#modelTrouble = trouble;
      },
    );
  }

  #fence(): void {
    const stopped = this.#leases.stopAll('given back');
    if (stopped > 0) {
      this.notice(
        'error',
        `no heartbeat was answered for the stale time: stopped ${stopped} jobs, others may have them`,
      );
    }
    this.#tell('fenced', { stopped });
  }

  #onDown(code: number, retryMs: number): void {
    this.#heartbeat.down();
    // With the key went its jobs: the coordinator has failed them all, and what they go on to use is paid for nothing.
    if (code === closeCodes.keyRefused) this.#leases.stopAll('ordered');
    this.#tell('disconnected', { code, retryMs });
  }

  #onTrouble(trouble: Trouble, retryMs: number): void {
    const again = retryMs > 0 ? `; trying again in ${(retryMs / 1000).toFixed(1)} s` : '';
    this.notice(trouble.level, `${trouble.message}${again}`);
    if (trouble.setback === 'refused') this.#tell('unauthorized');
  }

  #send(frame: WorkerFrame): boolean {
    return this.#connection.send(JSON.stringify(frame));
  }

  /** A watcher that throws must not take the worker with it. */
  #tell<K extends keyof WorkerEvents>(
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
