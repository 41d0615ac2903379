import type { Clock } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import { type AckFrame, type Assignment, features, type WireLease } from '../domain/workerProtocol.ts';
import type { Logger } from '../lib/log.ts';
import { ChunkPacer } from './chunks.ts';
import { cleanUsage } from './clean.ts';
import type { WorkerEvents } from './events.ts';
import { Executor } from './executor.ts';
import { leaseKey, Outbox } from './outbox.ts';
import { OutcomeSender } from './outcomeSender.ts';
import type { Provider, RunOutcome } from './provider.ts';
import { abortOf, type RunReport, releaseOf, reportOf, workerFault } from './report.ts';
import type { Run, StopReason } from './run.ts';
import { WaitingJobs } from './waitingJobs.ts';

/** The connection to the coordinator. */
interface FrameSender {
  /** @returns false without a connection; the outbox keeps what matters. */
  send(json: string): boolean;
  /** Bytes that a slow connection has not accepted yet. */
  readonly backlogBytes: number;
}

interface LeasesOwner {
  /** Jobs that may run at a time. */
  slots(): number;
  onFinished(event: WorkerEvents['finished'][0]): void;
  notice(level: 'warn' | 'error', message: string): void;
}

export interface LeasesOptions {
  providers: readonly Provider[];
  clock: Clock;
  logger: Logger;
  wire: FrameSender;
  owner: LeasesOwner;
}

const backlogBytesMax = 1024 * 1024;

/**
 * Every lease this worker holds, from its assignment to the acknowledgement of its outcome: first it runs, then its
 * outcome waits in the outbox. It knows nothing of connections except whether a frame could be sent.
 */
export class HeldLeases {
  readonly #options: LeasesOptions;
  readonly #executor: Executor;
  readonly #outbox = new Outbox();
  readonly #chunks: ChunkPacer;
  readonly #outcomes: OutcomeSender;
  readonly #waiting: WaitingJobs;
  #holdsAhead = false;

  constructor(options: LeasesOptions) {
    const { providers, clock, wire, owner } = options;
    this.#options = options;
    this.#executor = new Executor(byName(providers), clock, {
      onOutput: (run) => this.#chunks.add(run),
      onEnd: (run, outcome) => this.#onEnd(run, outcome),
      onFault: (run, problem) => owner.notice('error', `the provider ${run.assignment.provider} ${problem}`),
    });
    this.#outcomes = new OutcomeSender((json) => wire.send(json));
    this.#waiting = new WaitingJobs(clock, () => this.recall());
    this.#chunks = new ChunkPacer(
      clock,
      (frame) => wire.send(JSON.stringify(frame)),
      () => wire.backlogBytes > backlogBytesMax,
    );
  }

  /** For later assignments. */
  setProviders(providers: readonly Provider[]): void {
    this.#executor.setProviders(byName(providers));
  }

  /** The number of running jobs. */
  get running(): number {
    return this.#executor.size;
  }

  /** Outcomes without an acknowledgement. */
  get undelivered(): number {
    return this.#outbox.size;
  }

  /** Every lease whose outcome is not acknowledged: the list in `hello` and `heartbeat`. */
  held(): WireLease[] {
    const held: WireLease[] = this.#waiting.leases();
    for (const { assignment } of this.#executor.runs()) {
      held.push({ job_id: assignment.job_id, lease: assignment.lease });
    }
    for (const { job_id, lease } of this.#outbox.entries()) held.push({ job_id, lease });
    return held;
  }

  has(job: WireLease): boolean {
    const key = leaseKey(job);
    return this.#executor.has(key) || this.#outbox.has(key) || this.#waiting.has(key);
  }

  /** Run a job, as soon as there is a slot for it. Its outcome is delivered when it ends. */
  run(job: Assignment): void {
    const slots = this.#options.owner.slots();
    const isFull = this.#executor.size >= slots;
    if (isFull && this.#holdsAhead) {
      this.#waiting.add(leaseKey(job), job);
      return;
    }
    if (isFull) this.#options.owner.notice('warn', `was given more than its ${slots} slots`);
    this.#executor.start(leaseKey(job), job);
  }

  /** Release what waits for a slot. */
  recall(): void {
    for (const job of this.#waiting.takeAll()) this.giveBack(job);
  }

  /** Release a job that was not started. */
  giveBack(job: Assignment): void {
    this.#deliver(leaseKey(job), releaseOf(job));
  }

  /**
   * The coordinator no longer wants this lease. A finished run has already sent its outcome; nothing more is sent then.
   */
  stop(of: WireLease): void {
    const waiting = this.#waiting.take(leaseKey(of));
    if (waiting !== null) this.#deliver(leaseKey(of), abortOf(waiting));
    else this.#executor.stop(leaseKey(of), 'ordered');
  }

  /** @returns how many were running. */
  stopAll(reason: StopReason): number {
    const waiting = this.#waiting.takeAll();
    for (const job of waiting) {
      if (reason === 'ordered') this.#deliver(leaseKey(job), abortOf(job));
      else if (reason !== 'dropped') this.giveBack(job);
    }
    return waiting.length + this.#executor.stopAll(reason);
  }

  /**
   * The coordinator's answer to an outcome. A refusal also means to stop.
   * @returns whether that loses something: late usage is recorded although it is refused.
   */
  onAck(ack: Omit<AckFrame, 'type'>): boolean {
    const key = leaseKey(ack);
    const isRecorded = ack.reason === 'lease_lost' && this.#outbox.isUsageOnly(key);
    const next = this.#outbox.settle(key, ack.accepted || ack.reason === 'lease_lost');
    if (next !== null) this.#outcomes.send(next);
    if (!ack.accepted) this.stop(ack);
    return !ack.accepted && !isRecorded;
  }

  /** The features of a new connection. */
  setFeatures(given: readonly string[]): void {
    this.#chunks.isTyped = given.includes(features.typedChunks);
    this.#outcomes.isShared = given.includes(features.sharedFrames);
    this.#holdsAhead = given.includes(features.holdsAhead);
  }

  /** After a reconnect: send everything again that was not acknowledged. */
  sendAgain(): void {
    for (const entry of this.#outbox.entries()) this.#outcomes.send(entry.json);
  }

  /** Resolves when no run is left. */
  idle(): Promise<void> {
    return this.#executor.idle();
  }

  /** Resolves when every outcome is acknowledged. */
  delivered(): Promise<void> {
    return this.#outbox.emptied();
  }

  /** Abort everything, send nothing, hold no timer. */
  close(): void {
    this.#waiting.takeAll();
    this.#executor.stopAll('dropped');
    this.#executor.close();
    this.#chunks.stop();
  }

  /** A slot may be free for those that wait. */
  fillSlots(): void {
    while (this.#executor.size < this.#options.owner.slots()) {
      const next = this.#waiting.next();
      if (next === null) return;
      this.#executor.start(leaseKey(next), next);
    }
  }

  #onEnd(run: Run, outcome: RunOutcome): void {
    if (run.stopped?.reason === 'dropped') return;
    this.fillSlots();
    this.#chunks.end(run);
    const latencyMs = Math.round(this.#options.clock.monotonic() - run.startedAt);
    const report = this.#reportOf(run, outcome, latencyMs);
    this.#deliver(run.key, report);
    const { job_id: jobId, lease, provider, model } = run.assignment;
    const { ending, errorClass } = report;
    if (ending === 'failed') {
      this.#options.logger.info({ jobId, lease, provider, class: errorClass, latencyMs }, 'job failed');
    }
    const note = { jobId, lease, provider, model, ending, errorClass, latencyMs };
    this.#options.owner.onFinished({ ...note, ...tokensOf(outcome) });
  }

  #reportOf(run: Run, outcome: RunOutcome, latencyMs: number): RunReport {
    const firstTokenMs = run.firstTextAt === null ? null : Math.round(run.firstTextAt - run.startedAt);
    try {
      return reportOf(run, outcome, latencyMs, firstTokenMs);
    } catch (error) {
      // An adapter that breaks the port's types fails only its job.
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
    this.#outcomes.send(report.entry.json);
  }
}

function byName(providers: readonly Provider[]): ReadonlyMap<string, Provider> {
  return new Map(providers.map((provider) => [provider.name, provider]));
}

/** An adapter that breaks the port's types reports none. */
function tokensOf(outcome: RunOutcome | undefined): {
  inputTokens: number | null;
  outputTokens: number | null;
} {
  const usage = cleanUsage(outcome?.ok === true ? outcome.result?.usage : outcome?.usage);
  return { inputTokens: usage?.input_tokens ?? null, outputTokens: usage?.output_tokens ?? null };
}
