import { usageFromWire, type WireUsage } from '../../src/domain/usage.ts';
import type { Assignment, WireFailure } from '../../src/domain/workerProtocol.ts';
import type { Logger } from '../../src/lib/log.ts';
import {
  abortedOutcome,
  type Provider,
  type RunContext,
  type RunOutcome,
} from '../../src/worker/provider.ts';
import { Worker } from '../../src/worker/worker.ts';
import { SimProcess, type Timeline } from '../support/timeline.ts';
import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Run } from './jobChecks.ts';
import type { Network } from './network.ts';
import { failureBy, Servers } from './servers.ts';

/** Providers of the simulated fleet. `alpha` has a price and a rate limit, `beta` has neither, `echo` is free. */
export const providerNames = ['alpha', 'beta', 'echo'] as const;

/** What a run comes to, by the share of runs. */
const failureClasses = [
  'server_error',
  'rate_limited',
  'overloaded',
  'auth',
  'content_filtered',
  'timeout',
  'unknown',
] as const;

/** Every run that any worker has begun, by job and lease: what the world knows to be true of them. */
export class Runs {
  readonly #byLease = new Map<string, Run[]>();
  count = 0;

  add(jobId: string, lease: number, run: Run): void {
    this.count += 1;
    const key = `${jobId}#${lease}`;
    const runs = this.#byLease.get(key);
    if (runs === undefined) this.#byLease.set(key, [run]);
    else runs.push(run);
  }

  of(jobId: string, lease: number): readonly Run[] {
    return this.#byLease.get(`${jobId}#${lease}`) ?? [];
  }
}

export interface FleetParts {
  timeline: Timeline;
  network: Network;
  dice: Dice;
  history: History;
  runs: Runs;
  logger: Logger;
  staleSeconds: number;
  /** Whether faults may still happen: afterwards every run ends well and soon. */
  isActive: () => boolean;
  /** What it shows when it connects. */
  apiKey: () => string;
}

/** One worker of the fleet, over all its processes: the real worker's runtime with simulated providers. */
export class SimWorker {
  readonly name: string;
  readonly providers: readonly string[];
  concurrency: number;
  process: SimProcess;
  worker: Worker;
  readonly servers: Servers;
  readonly #parts: FleetParts;
  #starts = 0;

  constructor(name: string, parts: FleetParts) {
    const { dice } = parts;
    this.name = name;
    this.#parts = parts;
    this.servers = new Servers(() => parts.timeline.now);
    this.concurrency = dice.int(1, 4);
    // The first one serves all, so that no job waits for ever.
    this.providers = name === 'w0' ? providerNames : providerNames.filter(() => dice.chance(0.6));
    if (this.providers.length === 0) this.providers = [dice.pick(providerNames)];
    this.process = this.#begin();
    this.worker = this.#make();
    this.#start();
  }

  /** The process dies, and another one is started after a while. */
  kill(backInMs: number): void {
    const { timeline, network, history } = this.#parts;
    history.add(this.name, 'dies');
    this.process.end();
    network.reset(this.process);
    this.process = this.#begin();
    timeline.after(this.process, backInMs, () => {
      this.worker = this.#make();
      this.#start();
    });
  }

  /** Stop in good order within a grace, then start anew. */
  drain(graceMs: number, backInMs: number): void {
    const { timeline, history } = this.#parts;
    const { process } = this;
    history.add(this.name, `drains for ${graceMs} ms`);
    this.worker.drain(graceMs).then(
      ({ undelivered }) => {
        if (!process.isAlive || this.process !== process) return;
        history.add(this.name, `has drained, ${undelivered} undelivered`);
        process.end();
        this.process = this.#begin();
        timeline.after(this.process, backInMs, () => {
          this.worker = this.#make();
          this.#start();
        });
      },
      () => {},
    );
  }

  #begin(): SimProcess {
    this.#starts += 1;
    return new SimProcess(this.#parts.timeline, this.name);
  }

  #make(): Worker {
    const { dice, network, logger, staleSeconds, apiKey } = this.#parts;
    return new Worker({
      name: this.name,
      kind: 'cloud',
      coordinatorUrl: 'ws://coordinator',
      apiKey,
      providers: this.providers.map((provider) => this.#provider(provider, this.process)),
      concurrency: this.concurrency,
      instance: `${this.name}-${this.#starts}`,
      clock: this.process.clock,
      random: dice.random,
      logger,
      staleSeconds,
      dial: network.dialFrom(this.process),
    });
  }

  #start(): void {
    const { history } = this.#parts;
    history.add(this.name, 'starts');
    void this.worker.start();
  }

  #provider(name: string, process: SimProcess): Provider {
    return {
      name,
      kind: 'cloud',
      models: async () => null,
      probe: async () => null,
      run: (assignment, context) => this.#run(assignment, context, process),
    };
  }

  /** One run: takes a while, says something now and then, and ends in one way or another. */
  async #run(
    assignment: Assignment,
    { clock, signal, onText, onPart }: RunContext,
    process: SimProcess,
  ): Promise<RunOutcome> {
    const { dice, history, runs, isActive } = this.#parts;
    const { job_id: jobId, lease, provider } = assignment;
    const usage = { input_tokens: dice.int(1, 500), output_tokens: dice.int(1, 500) };
    const output = `${jobId}#${lease} by ${this.name}, run ${runs.count}`;
    runs.add(jobId, lease, { worker: this.name, output, usage: usageFromWire(usage) });
    history.add(this.name, `runs ${jobId}#${lease} at ${provider}`);
    const trouble = this.servers.trouble(provider);
    if (trouble !== null) {
      if (!(await pause(dice.spread(1, trouble === 'down' ? 5_000 : 100), clock, signal)))
        return abortedOutcome();
      return this.#failed(provider, failureBy(trouble));
    }
    const isEndless = isActive() && dice.chance(0.03);
    const tookMs = isEndless ? 3_600_000 : dice.spread(2, isActive() ? 30_000 : 2_000);
    const chunks = dice.int(0, 3);
    for (let chunk = 0; chunk <= chunks; chunk += 1) {
      if (!(await pause(tookMs / (chunks + 1), clock, signal)))
        return abortedOutcome(dice.chance(0.7) ? usage : undefined);
      onPart({ type: 'reasoning', text: 'thought ' });
      onText('text ');
    }
    if (!process.isAlive || !isActive() || dice.chance(0.7))
      return { ok: true, result: { output, finish_reason: 'stop', model: null, usage } };
    if (dice.chance(0.05)) throw new Error('the adapter has a bug');
    const errorClass = dice.pick(failureClasses);
    const error = {
      class: errorClass,
      message: 'made by the simulation',
      ...(errorClass === 'rate_limited' && dice.chance(0.5) ? { retry_after_seconds: dice.int(0, 20) } : {}),
    };
    return this.#failed(provider, error, dice.chance(0.5) ? usage : undefined);
  }

  #failed(provider: string, error: WireFailure, usage?: Partial<WireUsage>): RunOutcome {
    this.servers.failed(provider, error.class);
    return { ok: false, error, usage };
  }
}

/** @returns false when it was aborted before the time had passed. */
function pause(ms: number, clock: RunContext['clock'], signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const takeBack = clock.after(ms, () => resolve(true));
    signal.addEventListener(
      'abort',
      () => {
        takeBack();
        resolve(false);
      },
      { once: true },
    );
  });
}
