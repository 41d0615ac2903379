import type { ExecutionContext } from 'ava';
import { assembleCore, type Core } from '../../src/assemble.ts';
import type { Config } from '../../src/config/config.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import type { WorkerConnection } from '../../src/coordinator/fleet/workerConnection.ts';
import type { WorkerLink } from '../../src/coordinator/fleet/workerSession.ts';
import type { JobRecord, JobRequest } from '../../src/domain/job.ts';
import { statusOf } from '../../src/domain/states.ts';
import { type Usage, usageFromWire } from '../../src/domain/usage.ts';
import type { WorkerHello, WorkerKey } from '../../src/domain/worker.ts';
import type { Assignment, CoordinatorFrame } from '../../src/domain/workerProtocol.ts';
import { silent } from '../../src/lib/log.ts';
import { type Files, nodeFiles } from '../../src/store/json/files.ts';
import type { JsonStore } from '../../src/store/json/jsonStore.ts';
import { testConfig } from './config.ts';
import { FakeClock, seededRandom } from './fakeClock.ts';
import { temporaryFolder } from './folder.ts';
import type { HandSender } from './handSender.ts';

/** Some seconds of turns: far more than any commit takes. */
const turnsMax = 500_000;

/** What a client sends, with everything left out that the test does not care for. */
export function request(fields: Partial<JobRequest> = {}): JobRequest {
  return {
    prompt: 'Say hello',
    input: null,
    messages: null,
    provider: 'echo',
    model: null,
    priority: 'normal',
    tier: null,
    tags: [],
    params: {},
    metadata: {},
    timeoutSeconds: null,
    notBefore: null,
    ...fields,
  };
}

/** The key of workers whose key does not matter. */
const someKey: WorkerKey = { keyId: 'some', name: 'some key', bounds: null };

export const someUsage = usageFromWire({ input_tokens: 10, output_tokens: 5 });

/** A worker by hand: keeps every frame, says what it is told to say. */
export class HandWorker implements WorkerLink {
  readonly frames: CoordinatorFrame[] = [];
  readonly jobs: Assignment[] = [];
  closed: { code: number; reason: string } | null = null;
  readonly #coordinator: Coordinator;
  readonly connection: WorkerConnection;
  #watchers: (() => void)[] = [];

  constructor(coordinator: Coordinator, key: WorkerKey = someKey) {
    this.#coordinator = coordinator;
    this.connection = coordinator.connect(this, key);
  }

  get id(): string {
    return this.connection.workerId;
  }

  send(frame: CoordinatorFrame): void {
    this.frames.push(frame);
    this.#wake();
  }

  assign(jobs: readonly Assignment[]): void {
    this.jobs.push(...jobs);
    this.#wake();
  }

  close(code: number, reason: string): void {
    this.closed ??= { code, reason };
    this.#wake();
    this.#coordinator.disconnect(this.connection, code);
  }

  /** The socket breaks, or ends with the close frame of the worker. */
  drop(code = 1006): void {
    this.#coordinator.disconnect(this.connection, code);
  }

  /** Resolves when `seen` says so; looked at whenever something comes in. */
  async until(seen: () => boolean): Promise<void> {
    while (!seen()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** The `count`th job it was given, counted from 1. */
  async job(count = 1): Promise<Assignment> {
    await this.until(() => this.jobs.length >= count);
    return this.jobs[count - 1] as Assignment;
  }

  complete(
    job: Assignment,
    output = 'hello',
    usage: Usage | null = someUsage,
    { finishReason = 'stop', latencyMs = 3 }: { finishReason?: string; latencyMs?: number } = {},
  ): Promise<void> {
    return this.connection.conclude(
      { jobId: job.job_id, lease: job.lease },
      {
        type: 'complete',
        output,
        finishReason,
        model: null,
        usage,
        latencyMs,
        firstTokenMs: null,
      },
    );
  }

  /** The last ack. */
  get ack(): CoordinatorFrame | undefined {
    return this.frames.findLast(({ type }) => type === 'ack');
  }

  #wake(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}

export interface Bundle {
  config: Config;
  core: Core;
  store: JsonStore;
  clock: FakeClock;
  coordinator: Coordinator;
  folder: string;
  /** Connect a worker; it serves `echo` unless told. */
  worker(
    hello?: Partial<WorkerHello>,
    running?: { jobId: string; lease: number }[],
    key?: WorkerKey,
  ): Promise<HandWorker>;
  /** The job once `isReached`. */
  jobWhen(id: string, isReached: (job: JobRecord) => boolean): Promise<JobRecord>;
  /** The job once it has this status. */
  jobAs(id: string, status: string): Promise<JobRecord>;
  /** Stop it in the way of a `kill -9`: nothing is drained. Then start anew on the same folder. */
  restart(): Promise<Bundle>;
}

/** A coordinator on a temporary folder, with a clock turned by hand. */
export async function setup(
  t: ExecutionContext,
  overrides: Parameters<typeof testConfig>[0] = {},
  {
    folder = temporaryFolder(t),
    clock = new FakeClock(),
    files = nodeFiles,
    inspects = false,
    idempotencyKeysMax,
    webhookSender,
    onBatches,
  }: {
    folder?: string;
    clock?: FakeClock;
    files?: Files;
    inspects?: boolean;
    idempotencyKeysMax?: number | undefined;
    webhookSender?: HandSender | undefined;
    onBatches?: ((areUnderWay: boolean) => void) | undefined;
  } = {},
): Promise<Bundle> {
  const config = testConfig(overrides);
  const core = assembleCore({
    config: () => config,
    clock,
    random: seededRandom(),
    logger: silent,
    path: folder,
    files,
    inspects,
    idempotencyKeysMax,
    webhookSender,
    onBatches,
  });
  const { store, coordinator } = core;
  await coordinator.start();
  let isOpen = true;
  const close = async () => {
    if (isOpen) await coordinator.close();
    isOpen = false;
  };
  t.teardown(close);
  const bundle: Bundle = {
    config,
    core,
    store,
    clock,
    coordinator,
    folder,
    worker: async (hello = {}, running = [], key = someKey) => {
      const worker = new HandWorker(coordinator, key);
      await worker.connection.hello(
        {
          name: `w-${Math.random().toString(36).slice(2)}`,
          kind: 'cloud',
          providers: ['echo'],
          models: {},
          tags: [],
          concurrency: 1,
          version: null,
          host: null,
          instance: null,
          ...hello,
        },
        running,
      );
      return worker;
    },
    jobWhen: async (id, isReached) => {
      // Turns of the event loop, not time: what is looked for needs a commit, and the clock stands still meanwhile.
      for (let turn = 0; turn < turnsMax; turn += 1) {
        const { job } = await coordinator.job(id);
        if (isReached(job)) return job;
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      throw new Error(`job ${id} is ${(await coordinator.job(id)).job.state} and stays so`);
    },
    jobAs: (id, status) => bundle.jobWhen(id, ({ state }) => state === status || statusOf(state) === status),
    restart: async () => {
      await close();
      return setup(t, overrides, { folder, clock, idempotencyKeysMax, webhookSender });
    },
  };
  return bundle;
}
