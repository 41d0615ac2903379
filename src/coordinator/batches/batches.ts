import type { Doer } from '../../domain/audit.ts';
import type { BatchRequest } from '../../domain/batch.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { isPrivileged, type Principal } from '../../domain/key.ts';
import type { RunLimits } from '../../domain/run.ts';
import type { Audit } from '../core/index.ts';
import { uuidv7 } from '../jobs/index.ts';
import type { RunBook, RunHost } from '../runs/index.ts';
import type { BatchFormat } from './batchFormat.ts';
import type { BatchHost } from './batchHost.ts';
import { answersSoFar, unansweredLines } from './batchResults.ts';
import { type BatchRun, isBatch } from './batchRun.ts';
import type { BatchWatch } from './batchWatch.ts';

/** How long a request with the same idempotency key makes no second batch, ms. */
const idempotencyMs = 86_400_000;

/** Hashes of an idempotency key and of the request that it was sent with. */
export interface BatchKey {
  hash: string;
  bodyHash: string;
}

/** A batch as a client asks for it. */
export interface NewBatch extends Omit<BatchRequest, 'hasShare' | 'key' | 'expiresAt'> {
  /** How long its lines may take to start, ms. */
  windowMs: number;
  limits: Pick<RunLimits, 'maxCost' | 'maxFailures'>;
  key: BatchKey | null;
}

interface Parts {
  clock: Clock;
  random: Random;
  audit: Audit;
  book: RunBook;
  host: BatchHost;
  runHost: RunHost;
  watch: BatchWatch;
  /** @throws CoordinatorError invalid_request when there is no such webhook. */
  assertWebhook: (request: Pick<BatchRequest, 'webhook'>) => void;
}

/** Everything that reaches batches from outside. A batch is named by the id of its run. */
export class Batches {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Go on with every batch. Until then they rest. */
  open(format: BatchFormat): void {
    this.#parts.watch.open(format);
  }

  /** undefined also for a run that is no batch. */
  find(id: string): BatchRun | undefined {
    const run = this.#parts.book.find(id);
    return run !== undefined && isBatch(run) ? run : undefined;
  }

  /** @throws CoordinatorError run_not_found, also for a run that is no batch. */
  get(id: string): BatchRun {
    const run = this.find(id);
    if (run !== undefined) return run;
    throw new CoordinatorError('run_not_found', `There is no batch ${id}`);
  }

  /** All of them, newest first. */
  list(): BatchRun[] {
    return this.#parts.book.list([]).filter(isBatch);
  }

  /** Jobs that ended a minute. */
  rateOf(run: BatchRun): number {
    return this.#parts.book.view(run).ratePerMinute;
  }

  /**
   * Make a batch; its file is read after that. With an idempotency key that was used within a day the first one is the answer.
   * @throws CoordinatorError idempotency_conflict, share_exceeded when there are too many runs, invalid_request when there is
   * no such webhook; StoreUnavailable.
   */
  create(asked: NewBatch, by: Principal): Promise<BatchRun> {
    const { key } = asked;
    if (key === null) return this.#create(asked, by);
    return this.#parts.runHost.alone(
      `batch ${key.hash}`,
      async () => this.madeWith(key) ?? this.#create(asked, by),
    );
  }

  /**
   * The batch that was made with an idempotency key within a day; null when there is none.
   * @throws CoordinatorError idempotency_conflict when it was asked for by another request.
   */
  madeWith({ hash, bodyHash }: BatchKey): BatchRun | null {
    const since = this.#parts.clock.now() - idempotencyMs;
    const known = this.list().find(
      ({ batch, createdAt }) => batch.request.key?.hash === hash && createdAt > since,
    );
    if (known === undefined) return null;
    if (known.batch.request.key?.bodyHash === bodyHash) return known;
    const message = `The idempotency key was used for another request, which is ${known.name}; use a new key`;
    throw new CoordinatorError('idempotency_conflict', message);
  }

  async #create({ limits, key, windowMs, ...asked }: NewBatch, by: Principal): Promise<BatchRun> {
    const { clock, random, host, runHost, watch, assertWebhook } = this.#parts;
    assertWebhook(asked);
    const id = uuidv7(clock, random);
    const createdAt = clock.now();
    const request: BatchRequest = {
      ...asked,
      expiresAt: createdAt + windowMs,
      hasShare: !isPrivileged(by.role),
      ...(key === null ? {} : { key }),
    };
    const run = await runHost.create({
      id,
      name: `batch_${id.replaceAll('-', '')}`,
      createdAt,
      createdBy: { keyId: by.keyId, name: by.name },
      defaults: {},
      batch: host.begin(id, request),
      limits: { ...limits, deadline: null },
    });
    watch.look(id);
    return this.get(run.id);
  }

  /**
   * Cancel a batch: its jobs are cancelled and its files written after that, also over a restart. Nothing happens when it is
   * cancelled already. @throws CoordinatorError run_not_found; run_conflict when it has ended otherwise; StoreUnavailable.
   */
  async cancel(id: string, by: Doer): Promise<BatchRun> {
    const { audit, clock, host, watch } = this.#parts;
    const { name } = this.get(id);
    if (this.#isCancelled(id)) return this.get(id);
    const entry = audit.change({
      by,
      action: 'run.cancelled',
      target: { kind: 'run', id, name },
      details: {},
      outcome: 'done',
    });
    const cancelled = await host.apply(id, () => ({ type: 'batch.cancelled', at: clock.now() }), [entry]);
    if (cancelled === null) {
      // By another request that came at the same time.
      if (this.#isCancelled(id)) return this.get(id);
      const { state } = this.get(id).batch;
      throw new CoordinatorError('run_conflict', `A batch that is ${state} cannot be cancelled`);
    }
    watch.look(id);
    return cancelled;
  }

  #isCancelled(id: string): boolean {
    const { state } = this.get(id).batch;
    return state === 'cancelling' || state === 'cancelled';
  }

  /** The lines of a file of the batch that are known so far, in the order of the input file. */
  answersSoFar(id: string, which: 'output' | 'errors'): AsyncGenerator<string> {
    return answersSoFar(this.#parts.watch.results, this.get(id), which);
  }

  /** The lines of the input file that have no answer. */
  unanswered(id: string): AsyncGenerator<string> {
    return unansweredLines(this.#parts.watch.results, this.get(id));
  }
}
