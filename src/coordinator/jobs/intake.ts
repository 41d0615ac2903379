import { createHash, hash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Clock, Random } from '../../domain/clock.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { partsOfIdempotencyKey } from '../../domain/idempotency.ts';
import type { JobCreator, JobInput, JobRecord, JobRequest, OpenRequest, RunLine } from '../../domain/job.ts';
import type { Principal } from '../../domain/key.ts';
import { canonicalJson } from '../../lib/canonicalJson.ts';
import { KeyedQueue } from '../../lib/keyedQueue.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import { type Plan, planRoute } from '../../routing/router.ts';
import type { IdempotencyRecord, Store } from '../../store/store.ts';
import { KeyTaken } from '../../store/storeErrors.ts';
import type { Admission } from './admission.ts';
import { afterConflict } from './conflict.ts';
import { findJob } from './findJob.ts';
import { batchId, formerBatchId, shardOf, shardOfKey, uuidv7 } from './ids.ts';
import type { JobHost, NewJob } from './jobHost.ts';

/** How long the job of an idempotency key is remembered: a day, as the API promises. */
const idempotencyMs = 86_400_000;
/** Requests of a batch that are hashed, and its jobs that are looked up, between two turns of the event loop: some 5 ms. */
const perTurn = 500;
/** Characters of a request that take some milliseconds to write down. */
const longText = 256 * 1024;
/** Idempotency keys of one API key that are remembered: eleven a second all day long, some 300 MB. */
const keysMaxDefault = 1_000_000;

/** A request and where it may run. */
export interface PlannedRequest {
  request: JobRequest;
  plan: Plan;
}

/** A new job whose id its run decides. */
export interface JobOfRun {
  id: string;
  planned: PlannedRequest;
  /** Epoch ms. */
  createdAt: number;
  run: RunLine;
}

/** Makes a single job durable, with its first assignment when a worker is free for it. */
export interface JobCreation {
  /** @throws StoreUnavailable when it could not be made durable; then there is no such job. */
  create(job: NewJob): Promise<JobRecord>;
}

/** Accepts jobs: where each may run, and which job an idempotency key was used for. `by` is whose key sends them. */
export class Intake {
  readonly #plan: (request: JobRequest) => Plan;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: Store;
  readonly #host: JobHost;
  readonly #dispatcher: JobCreation;
  readonly #admission: Admission;
  readonly #idempotencyKeysMax: number;
  readonly #keys = new KeyedQueue();

  constructor(options: {
    /** Where a job may run. @throws CoordinatorError invalid_request. */
    plan: (request: JobRequest) => Plan;
    clock: Clock;
    random: Random;
    store: Store;
    host: JobHost;
    dispatcher: JobCreation;
    admission: Admission;
    /** Idempotency keys of one API key; 1,000,000 by default. */
    idempotencyKeysMax?: number | undefined;
  }) {
    this.#plan = options.plan;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#store = options.store;
    this.#host = options.host;
    this.#dispatcher = options.dispatcher;
    this.#admission = options.admission;
    this.#idempotencyKeysMax = options.idempotencyKeysMax ?? keysMaxDefault;
  }

  /**
   * Accept a job. Resolves when it is durable.
   * @throws CoordinatorError draining, queue_full, share_exceeded, invalid_request (nothing names a provider); StoreUnavailable.
   */
  accept(request: JobRequest, by: Principal | null): Promise<JobRecord> {
    return this.#create(uuidv7(this.#clock, this.#random), request, by);
  }

  /**
   * Accept a job unless its key was used within the last day; the record of the key is part of the job's own commit.
   * Calls with one key wait for each other, so that two at the same time make one job.
   * @param key as `ownIdempotencyKey` makes it. @param request an open one is the same when the same was asked for, whatever would be decided now.
   * @returns the job and whether it is new.
   * @throws CoordinatorError idempotency_conflict when the key stands for another request, share_exceeded when its owner has
   * too many of them; as `accept` otherwise, and what `decide` throws.
   */
  async acceptOnce(
    key: string,
    request: JobRequest | OpenRequest,
    by: Principal | null,
  ): Promise<{ job: JobRecord; isNew: boolean }> {
    const open = 'decide' in request ? request : { asked: request, decide: async () => request };
    const text = canonicalJson(open.asked);
    const bodyHash = hash('sha256', text);
    // To write it down takes as long again.
    if (text.length > longText) await nextTurn();
    let decided: JobRequest | null = null;
    return this.#once(key, async () => {
      const known = await this.#knownJob(key, bodyHash);
      if (known !== null) return { job: await findJob(this.#store, known), isNew: false };
      await this.#admitKey(key);
      decided ??= await open.decide();
      const idempotency = this.#newRecord(key, bodyHash);
      return { job: await this.#create(idempotency.jobId, decided, by, idempotency), isNew: true };
    });
  }

  /**
   * Accept all of the jobs in one commit, or none of them.
   * @throws CoordinatorError and StoreUnavailable as `accept`.
   */
  acceptAll(planned: readonly PlannedRequest[], by: Principal | null): Promise<JobRecord[]> {
    return this.#createAll(this.#jobsOf(planned, by), planned.length, by);
  }

  /**
   * Accept all of the jobs in one commit unless their key was used within the last day, see `acceptOnce`. Its record is
   * part of the first job's commit, and the ids of the others are made of that one's.
   * @returns the jobs in the order of their requests, and whether they are new.
   * @throws CoordinatorError idempotency_conflict when the key stands for other requests; as `acceptAll` otherwise.
   */
  async acceptAllOnce(
    key: string,
    planned: readonly PlannedRequest[],
    by: Principal | null,
  ): Promise<{ jobs: JobRecord[]; isNew: boolean }> {
    const bodyHash = await hashOfAll(planned);
    return this.#once(key, async () => {
      const known = await this.#knownJob(key, bodyHash);
      if (known === null) {
        await this.#admitKey(key);
        const jobs = this.#jobsOf(planned, by, this.#newRecord(key, bodyHash));
        return { jobs: await this.#createAll(jobs, planned.length, by), isNew: true };
      }
      const jobs: JobRecord[] = [];
      // Equal hashes: there were as many.
      for (const place of planned.keys()) {
        if (place % perTurn === perTurn - 1) await nextTurn();
        jobs.push(await this.#jobOfBatch(known, place));
      }
      return { jobs, isNew: false };
    });
  }

  /**
   * Accept jobs of a run, all in one commit or none.
   * @param jobs are asked for one by one as they are written. @param count how many they are.
   * @throws CoordinatorError and StoreUnavailable as `accept`.
   */
  acceptOfRun(jobs: Iterable<JobOfRun>, count: number, by: Principal | null): Promise<JobRecord[]> {
    return this.#createAll(newJobs(jobs, creatorOf(by)), count, by);
  }

  /**
   * Answer with the job that a key stands for, or make it, after all calls with that key that came before. When somebody else
   * was faster to use it, look again: then it stands for theirs.
   */
  #once<T>(key: string, attempt: () => Promise<T>): Promise<T> {
    return this.#keys.run(key, async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await attempt();
        } catch (error) {
          if (!(error instanceof KeyTaken)) throw error;
          await afterConflict(this.#clock, error, tries);
        }
      }
    });
  }

  /**
   * @returns the job that was made first with a key, null when it was not used within the last day.
   * @throws CoordinatorError idempotency_conflict when it stands for another request.
   */
  async #knownJob(key: string, bodyHash: string): Promise<string | null> {
    const own = await this.#store.idempotent(key);
    // One that was kept before keys had owners may be anybody's: its job is named to nobody.
    const known = own ?? (await this.#store.idempotent(partsOfIdempotencyKey(key).sent));
    if (known === undefined) return null;
    if (known.bodyHash === bodyHash) return known.jobId;
    const which = own === undefined ? '' : `, which is job ${own.jobId}`;
    throw new CoordinatorError(
      'idempotency_conflict',
      `The idempotency key was used for another request${which}; use a new key`,
    );
  }

  /** The job at a place of the batch whose first job this is. @throws CoordinatorError job_not_found; StoreUnavailable. */
  async #jobOfBatch(first: string, place: number): Promise<JobRecord> {
    const id = batchId(first, place);
    const job = (await this.#store.job(id)) ?? (await this.#store.archivedJob(id));
    return job ?? findJob(this.#store, formerBatchId(first, place));
  }

  /** @throws CoordinatorError share_exceeded when as many keys of its owner are remembered as may be. */
  async #admitKey(key: string): Promise<void> {
    const count = await this.#store.idempotencyKeys(partsOfIdempotencyKey(key).owner);
    if (count < this.#idempotencyKeysMax) return;
    throw new CoordinatorError(
      'share_exceeded',
      `${count} idempotency keys of this API key are remembered, as many as may be within a day; send many jobs with one key to /api/jobs/batch, or leave the key out`,
      { retryAfterSeconds: 60 },
    );
  }

  #newRecord(key: string, bodyHash: string): IdempotencyRecord {
    const jobId = uuidv7(this.#clock, this.#random, shardOfKey(key));
    return { key, jobId, bodyHash, expiresAt: this.#clock.now() + idempotencyMs };
  }

  #createAll(jobs: Iterable<NewJob>, count: number, by: Principal | null): Promise<JobRecord[]> {
    return this.#admission.hold(count, by, () => this.#host.createAll(jobs));
  }

  /** @param idempotency goes to the first of them, whose id it has. */
  *#jobsOf(
    planned: readonly PlannedRequest[],
    by: Principal | null,
    idempotency?: IdempotencyRecord,
  ): Generator<NewJob> {
    // One time for all: they are one commit.
    const createdAt = this.#clock.now();
    const createdBy = creatorOf(by);
    let shard: number | undefined;
    for (const [place, { request, plan }] of planned.entries()) {
      const id =
        idempotency === undefined
          ? uuidv7(this.#clock, this.#random, shard)
          : batchId(idempotency.jobId, place);
      shard ??= shardOf(id);
      const input = inputOf(request, plan, createdAt);
      yield { id, request, createdBy, input, idempotency: place === 0 ? idempotency : undefined };
    }
  }

  #create(
    id: string,
    request: JobRequest,
    by: Principal | null,
    idempotency?: IdempotencyRecord,
  ): Promise<JobRecord> {
    return this.#admission.hold(1, by, () => {
      const plan = this.#plan(request);
      const input = inputOf(request, plan, this.#clock.now());
      return this.#dispatcher.create({ id, request, createdBy: creatorOf(by), input, idempotency });
    });
  }
}

function* newJobs(jobs: Iterable<JobOfRun>, createdBy: JobCreator | null): Generator<NewJob> {
  for (const { id, planned, createdAt, run } of jobs) {
    const { request, plan } = planned;
    yield { id, request, createdBy, input: inputOf(request, plan, createdAt), run };
  }
}

function creatorOf(by: Principal | null): JobCreator | null {
  return by === null ? null : { keyId: by.keyId, name: by.name };
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

/** SHA-256 of the requests in their order, hex. None of a batch is that of a single request, which ends with no line end. */
async function hashOfAll(planned: readonly PlannedRequest[]): Promise<string> {
  const sum = createHash('sha256');
  for (const [place, { request }] of planned.entries()) {
    if (place % perTurn === perTurn - 1) await nextTurn();
    sum.update(`${canonicalJson(request)}\n`);
  }
  return sum.digest('hex');
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
