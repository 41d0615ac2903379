import { hash } from 'node:crypto';
import type { JobInput } from '../../machines/jobLife.ts';
import type { Config } from '../config/config.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { CoordinatorError, jobNotFound } from '../domain/errors.ts';
import type { JobRecord, JobRequest } from '../domain/job.ts';
import { canonicalJson } from '../lib/canonicalJson.ts';
import { KeyedQueue } from '../lib/keyedQueue.ts';
import { type Plan, planRoute } from '../routing/router.ts';
import type { IdempotencyRecord, Store } from '../store/store.ts';
import type { Dispatcher } from './dispatcher.ts';
import { uuidv7 } from './ids.ts';
import type { JobHost, NewJob } from './jobHost.ts';

/** How long the job of an idempotency key is remembered: a day, as the API promises. */
const idempotencyMs = 86_400_000;

/** A request and where it may run. */
export interface PlannedRequest {
  request: JobRequest;
  plan: Plan;
}

/** Takes jobs in: whether there is room, where each may run, and what an idempotency key already stands for. */
export class Intake {
  readonly #config: () => Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: Store;
  readonly #host: JobHost;
  readonly #dispatcher: Dispatcher;
  readonly #isDispatching: () => boolean;
  readonly #pending: () => number;
  readonly #keys = new KeyedQueue();
  /** Jobs whose commit is under way: they count for `jobs.max_pending`, so that a rush cannot go past it. */
  #entering = 0;

  constructor(options: {
    config: () => Config;
    clock: Clock;
    random: Random;
    store: Store;
    host: JobHost;
    dispatcher: Dispatcher;
    isDispatching: () => boolean;
    /** Jobs that are pending in the store. */
    pending: () => number;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#store = options.store;
    this.#host = options.host;
    this.#dispatcher = options.dispatcher;
    this.#isDispatching = options.isDispatching;
    this.#pending = options.pending;
  }

  /**
   * Accept a job. Resolves when it is durable.
   * @throws CoordinatorError draining, queue_full, invalid_request (nothing names a provider); StoreUnavailable.
   */
  accept(request: JobRequest): Promise<JobRecord> {
    return this.#create(uuidv7(this.#clock, this.#random), request);
  }

  /**
   * Accept a job unless its key was used within the last day; the record of the key is part of the job's own commit.
   * Calls with one key wait for each other, so that two at the same time make one job. Keys are global: clients that
   * share a coordinator and make keys of their own use UUIDs.
   * @returns the job and whether it is new.
   * @throws CoordinatorError idempotency_conflict when the key stands for another request; as `accept` otherwise.
   */
  acceptOnce(key: string, request: JobRequest): Promise<{ job: JobRecord; isNew: boolean }> {
    const bodyHash = hash('sha256', canonicalJson(request));
    return this.#keys.run(key, async () => {
      const known = await this.#store.idempotent(key);
      if (known === undefined) {
        const jobId = uuidv7(this.#clock, this.#random);
        const expiresAt = this.#clock.now() + idempotencyMs;
        const job = await this.#create(jobId, request, { key, jobId, bodyHash, expiresAt });
        return { job, isNew: true };
      }
      if (known.bodyHash !== bodyHash) {
        throw new CoordinatorError(
          'idempotency_conflict',
          `The idempotency key was used for another request, which is job ${known.jobId}; use a new key`,
        );
      }
      const { jobId } = known;
      const job = (await this.#store.job(jobId)) ?? (await this.#store.archivedJob(jobId));
      if (job === undefined) throw jobNotFound(known.jobId);
      return { job, isNew: false };
    });
  }

  /**
   * Accept all of the jobs in one commit, or none of them.
   * @throws CoordinatorError and StoreUnavailable as `accept`.
   */
  async acceptAll(planned: readonly PlannedRequest[]): Promise<JobRecord[]> {
    this.#admit(planned.length);
    this.#entering += planned.length;
    try {
      return await this.#host.createAll(this.#jobsOf(planned));
    } finally {
      this.#entering -= planned.length;
    }
  }

  *#jobsOf(planned: readonly PlannedRequest[]): Generator<NewJob> {
    // One time for all: they are one commit.
    const createdAt = this.#clock.now();
    for (const { request, plan } of planned) {
      const id = uuidv7(this.#clock, this.#random);
      yield { id, request, input: inputOf(request, plan, createdAt) };
    }
  }

  async #create(id: string, request: JobRequest, idempotency?: IdempotencyRecord): Promise<JobRecord> {
    this.#admit(1);
    const plan = planOrRefuse(request, this.#config());
    this.#entering += 1;
    try {
      return await this.#dispatcher.create({
        id,
        request,
        input: inputOf(request, plan, this.#clock.now()),
        idempotency,
      });
    } finally {
      this.#entering -= 1;
    }
  }

  /** @throws CoordinatorError draining; queue_full when `count` more jobs do not fit. */
  #admit(count: number): void {
    if (!this.#isDispatching()) {
      throw new CoordinatorError(
        'draining',
        'The coordinator is shutting down; send the job again in a moment',
        { retryAfterSeconds: 5 },
      );
    }
    const waiting = this.#pending() + this.#entering;
    const { maxPending } = this.#config().jobs;
    if (waiting + count > maxPending) {
      throw new CoordinatorError(
        'queue_full',
        `${waiting} jobs are waiting; ${count} more would go past the ${maxPending} that jobs.max_pending allows`,
        { retryAfterSeconds: 10 },
      );
    }
  }
}

function inputOf(request: JobRequest, plan: Plan, createdAt: number): JobInput {
  return {
    strategy: plan.strategy,
    target: plan.candidates[0],
    chain: plan.candidates.slice(1),
    route: [],
    priority: request.priority,
    createdAt,
    notBefore: request.notBefore,
  };
}

/** Where a job may run. @throws CoordinatorError invalid_request when nothing names a provider. */
export function planOrRefuse(request: JobRequest, config: Config): Plan {
  const plan = planRoute(request, config);
  if (plan === null) throw noProvider();
  return plan;
}

function noProvider(): CoordinatorError {
  return new CoordinatorError('invalid_request', 'No provider is named and nothing decides on one', {
    errors: [
      {
        field: 'provider',
        message:
          'is needed: name one, or configure jobs.default_provider, a routing rule or a routing strategy',
      },
    ],
  });
}
