import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import type { Random } from '../../../src/domain/clock.ts';
import type { Assignment } from '../../../src/domain/workerProtocol.ts';
import { silent } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/systemClock.ts';
import type { WorkerEvents } from '../../../src/worker/events.ts';
import {
  abortedOutcome,
  type Provider,
  type RunContext,
  type RunOutcome,
} from '../../../src/worker/provider.ts';
import { createEcho } from '../../../src/worker/providers/echo.ts';
import { Worker } from '../../../src/worker/worker.ts';
import type { WorkerOptions } from '../../../src/worker/workerOptions.ts';
import { ScriptedCoordinator } from './coordinator.ts';

/** No jitter: a reconnect comes at the earliest moment there is, at once where nothing forbids it. */
export const earliest: Random = { next: () => 0, bytes: (size) => new Uint8Array(size) };

export interface Bundle {
  coordinator: ScriptedCoordinator;
  worker: Worker;
  provider: HeldProvider;
  /** The next event of this name from now on. */
  event<K extends keyof WorkerEvents>(name: K): Promise<WorkerEvents[K][0]>;
  notices: string[];
}

/** A scripted coordinator and a started worker with an echo and a `held` provider; both end with the test. */
export async function setup(t: ExecutionContext, overrides: Partial<WorkerOptions> = {}): Promise<Bundle> {
  const coordinator = await ScriptedCoordinator.listen();
  const provider = new HeldProvider();
  const worker = new Worker({
    name: 'w',
    kind: 'cloud',
    coordinatorUrl: coordinator.url,
    apiKey: () => 'a-key',
    providers: [createEcho(), provider],
    concurrency: 2,
    clock: systemClock,
    random: earliest,
    logger: silent,
    ...overrides,
  });
  const notices: string[] = [];
  worker.on('notice', ({ message }) => notices.push(message));
  t.teardown(async () => {
    await Promise.all([worker.stop(), coordinator.close()]);
  });
  const event: Bundle['event'] = (name) => nextEvent(worker, name);
  return { coordinator, worker, provider, event, notices };
}

/** The next event of this name. */
async function nextEvent<K extends keyof WorkerEvents>(worker: Worker, name: K): Promise<WorkerEvents[K][0]> {
  const [detail]: unknown[] = await once(worker, name);
  return detail as WorkerEvents[K][0];
}

/** An assignment with everything that a test does not care about. */
export function job(job_id: string, more: Partial<Assignment> = {}): Assignment {
  return {
    job_id,
    lease: 1,
    attempt: 1,
    prompt: 'Say hello',
    input: null,
    messages: null,
    params: {},
    provider: 'held',
    model: null,
    timeout_seconds: 0,
    ...more,
  };
}

export interface HeldRun {
  assignment: Assignment;
  context: RunContext;
  end(outcome: RunOutcome): void;
}

export const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };

/** A whole answer. */
export function answer(output: string): RunOutcome {
  return { ok: true, result: { output, finish_reason: 'stop', model: 'm', usage } };
}

/** A provider whose runs end when the test says so, or when they are aborted (unless `isStubborn`). */
export class HeldProvider implements Provider {
  readonly name = 'held';
  readonly kind = 'cloud';
  readonly runs: HeldRun[] = [];
  isStubborn = false;
  #waiting: (() => void)[] = [];
  #taken = 0;

  async models(): Promise<string[] | null> {
    return ['m'];
  }

  async probe(): Promise<string[] | null> {
    return ['m'];
  }

  run(assignment: Assignment, context: RunContext): Promise<RunOutcome> {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    if (!this.isStubborn) context.signal.addEventListener('abort', () => resolve(abortedOutcome(usage)));
    this.runs.push({ assignment, context, end: resolve });
    for (const wake of this.#waiting.splice(0)) wake();
    return promise;
  }

  /** The next run that was begun. */
  async next(): Promise<HeldRun> {
    const place = this.#taken++;
    while (this.runs.length <= place) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const run = this.runs[place];
    if (!run) throw new Error('no run');
    return run;
  }
}
