import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { AckFrame, Assignment, WireLease } from '../domain/workerProtocol.ts';
import type { Logger } from '../lib/log.ts';
import { ChunkPacer } from './chunks.ts';
import type { WorkerEvents } from './events.ts';
import { Executor } from './executor.ts';
import { leaseKey, Outbox } from './outbox.ts';
import type { Outcome, Provider } from './provider.ts';
import { type RunReport, releaseOf, reportOf, workerFault } from './report.ts';
import type { Run, StopReason } from './run.ts';

/** The way to the coordinator, as the leases need it. */
interface Wire {
  /** @returns false when there is no connection; the outbox keeps what matters. */
  send(json: string): boolean;
  /** Bytes that a slow connection has not taken yet. */
  readonly backlogBytes: number;
}

interface LeasesOwner {
  onFinished(event: WorkerEvents['finished'][0]): void;
  notice(level: 'warn' | 'error', message: string): void;
}

export interface LeasesOptions {
  providers: readonly Provider[];
  clock: Clock;
  logger: Logger;
  wire: Wire;
  owner: LeasesOwner;
}

const backlogBytesMax = 1024 * 1024;

/**
 * Every lease this worker holds, from its assignment to the acknowledgement of its outcome: first it runs, then its
 * outcome waits in the outbox. Knows nothing of connections but whether a frame could be sent.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #executor: Executor;
  readonly #outbox = new Outbox();
  readonly #chunks: ChunkPacer;

  constructor(options: LeasesOptions) {
    const { providers, clock, wire, owner } = options;
    this.#options = options;
    this.#executor = new Executor(byName(providers), clock, {
      onText: (run) => this.#chunks.add(run),
      onEnd: (run, outcome) => this.#onEnd(run, outcome),
      onFault: (run, problem) => owner.notice('error', `the provider ${run.assignment.provider} ${problem}`),
    });
    this.#chunks = new ChunkPacer(
      clock,
      (frame) => wire.send(JSON.stringify(frame)),
      () => wire.backlogBytes > backlogBytesMax,
    );
  }

  /** For assignments that come from now on. */
  setProviders(providers: readonly Provider[]): void {
    this.#executor.setProviders(byName(providers));
  }

  /** Runs that are under way. */
  get running(): number {
    return this.#executor.size;
  }

  /** Outcomes that wait for the coordinator's answer. */
  get undelivered(): number {
    return this.#outbox.size;
  }

  /** Every lease whose outcome is not acknowledged: what `hello` and `heartbeat` list. */
  held(): WireLease[] {
    const held: WireLease[] = [];
    for (const { assignment } of this.#executor.runs()) {
      held.push({ job_id: assignment.job_id, lease: assignment.lease });
    }
    for (const { job_id, lease } of this.#outbox.entries()) held.push({ job_id, lease });
    return held;
  }

  has(job: WireLease): boolean {
    const key = leaseKey(job);
    return this.#executor.has(key) || this.#outbox.has(key);
  }

  /** Run it. Its end is delivered by itself. */
  run(job: Assignment): void {
    this.#executor.start(leaseKey(job), job);
  }

  /** Give it back without having begun it. */
  giveBack(job: Assignment): void {
    this.#deliver(leaseKey(job), releaseOf(job));
  }

  /** The coordinator wants this lease no more. A run that is over has told its outcome; nothing more is said then. */
  stop(of: WireLease): void {
    this.#executor.stop(leaseKey(of), 'ordered');
  }

  /** @returns how many were running. */
  stopAll(reason: StopReason): number {
    return this.#executor.stopAll(reason);
  }

  /**
   * The coordinator's answer to an outcome. A refusal is itself the order to stop.
   * @returns whether something is lost by it: late usage is recorded although it is refused.
   */
  onAck(ack: AckFrame): boolean {
    const key = leaseKey(ack);
    const isRecorded = ack.reason === 'lease_lost' && this.#outbox.isUsageOnly(key);
    const next = this.#outbox.settle(key, ack.accepted || ack.reason === 'lease_lost');
    if (next !== null) this.#options.wire.send(next);
    if (!ack.accepted) this.#executor.stop(key, 'ordered');
    return !ack.accepted && !isRecorded;
  }

  /** After a reconnect: everything that was not acknowledged goes out again. */
  sendAgain(): void {
    for (const entry of this.#outbox.entries()) this.#options.wire.send(entry.json);
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    return this.#executor.idle();
  }

  /** Resolves when every outcome is acknowledged. */
  delivered(): Promise<void> {
    return this.#outbox.emptied();
  }

  /** Abort everything, tell nothing, hold no timer. */
  close(): void {
    this.#executor.stopAll('dropped');
    this.#executor.close();
    this.#chunks.stop();
  }

  #onEnd(run: Run, outcome: Outcome): void {
    if (run.stopped?.reason === 'dropped') return;
    this.#chunks.end(run);
    const latencyMs = Math.round(this.#options.clock.monotonic() - run.startedAt);
    const report = this.#reportOf(run, outcome, latencyMs);
    this.#deliver(run.key, report);
    const { job_id: jobId, lease, provider, model } = run.assignment;
    const { ending, errorClass } = report;
    if (ending === 'failed') {
      this.#options.logger.info({ jobId, lease, provider, class: errorClass, latencyMs }, 'job failed');
    }
    this.#options.owner.onFinished({ jobId, lease, provider, model, ending, errorClass, latencyMs });
  }

  #reportOf(run: Run, outcome: Outcome, latencyMs: number): RunReport {
    const firstTokenMs = run.firstTextAt === null ? null : Math.round(run.firstTextAt - run.startedAt);
    try {
      return reportOf(run, outcome, latencyMs, firstTokenMs);
    } catch (error) {
      // An adapter that breaks the port's types fails its job and nothing else.
      this.#options.owner.notice(
        'error',
        `an outcome of ${run.assignment.provider} is malformed: ${messageOf(error)}`,
      );
      return reportOf(
        run,
        workerFault('The provider adapter gave a malformed outcome'),
        latencyMs,
        firstTokenMs,
      );
    }
  }

  #deliver(key: string, report: RunReport): void {
    this.#outbox.add(key, report.entry);
    this.#options.wire.send(report.entry.json);
  }
}

function byName(providers: readonly Provider[]): ReadonlyMap<string, Provider> {
  return new Map(providers.map((provider) => [provider.name, provider]));
}
