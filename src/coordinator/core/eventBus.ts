import type { StateValue } from 'xstate';
import { pathsOf } from '../../../machines/statePath.ts';
import type { ChunkPart } from '../../domain/chunkParts.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { MachineName } from '../../domain/machine.ts';
import type { ProviderView } from '../../domain/provider.ts';
import type { QueueState } from '../../domain/queue.ts';
import { isTerminal, type ProviderStatus, statusOf } from '../../domain/states.ts';
import type { WorkerView } from '../../domain/worker.ts';
import type { Committed } from './changes.ts';

/** The status of a job has changed. */
export type StatusEventType =
  | 'job.created'
  | 'job.started'
  | 'job.requeued'
  | 'job.completed'
  | 'job.failed'
  | 'job.cancelled';

/** And what happens to a job that runs all the while: its worker is gone, and has come back with it. */
export type JobEventType = StatusEventType | 'job.stuck' | 'job.resumed';

export type WorkerEventType =
  | 'worker.connected'
  | 'worker.disconnected'
  | 'worker.paused'
  | 'worker.resumed'
  | 'worker.updated'
  | 'worker.forgotten';

export type ProviderEventType =
  | 'provider.limited'
  | 'provider.opened'
  | 'provider.probing'
  | 'provider.recovered';

/** A machine has gone from one state to another. That of a job is published when it is committed. */
export interface Transition {
  machine: MachineName;
  /** Of the job or worker; the provider's name; `supervisor`. */
  actorId: string;
  /** As a path, `pending.ready`; null for a job that is new. */
  from: string | null;
  to: string;
  /** The machine's own event, `job.assigned`. */
  event: string;
}

/** A piece of the running attempt's output. */
export interface JobProgressEvent {
  type: 'job.progress';
  at: number;
  jobId: string;
  lease: number;
  /** Of the chunk within the lease. */
  seq: number;
  /** The text among the parts. */
  text: string;
  /** In order, with text as one of them; two in a row that belong together are one. */
  parts: readonly ChunkPart[];
}

export type LiveEvent =
  | { type: JobEventType; at: number; job: JobRecord }
  | JobProgressEvent
  | { type: WorkerEventType; at: number; worker: WorkerView }
  | { type: ProviderEventType; at: number; provider: ProviderView }
  | { type: 'queue.paused' | 'queue.resumed'; at: number; queue: QueueState }
  | ({ type: 'transition'; at: number } & Transition);

/** What happens to one job. */
export type JobLiveEvent = Extract<LiveEvent, { type: JobEventType | 'job.progress' }>;

/** What a committed change of a job is called outside; null when there is nothing to tell. */
function jobEventType(before: JobRecord | null, after: JobRecord): JobEventType | null {
  if (before?.state === 'running.active' && after.state === 'running.stuck') return 'job.stuck';
  if (before?.state === 'running.stuck' && after.state === 'running.active') return 'job.resumed';
  return statusEventType(before, after);
}

/** What a committed change of a job's status is called; null when the status stayed. */
export function statusEventType(before: JobRecord | null, after: JobRecord): StatusEventType | null {
  if (before === null) return 'job.created';
  const from = statusOf(before.state);
  const to = statusOf(after.state);
  if (from === to) return null;
  if (to === 'pending') return 'job.requeued';
  return to === 'running' ? 'job.started' : `job.${to}`;
}

/** What a provider's new state is called outside. */
export function providerEventType(status: ProviderStatus): ProviderEventType {
  return providerEvents[status];
}

const providerEvents: Record<ProviderStatus, ProviderEventType> = {
  limited: 'provider.limited',
  open: 'provider.opened',
  probing: 'provider.probing',
  available: 'provider.recovered',
};

type Listener = (event: LiveEvent) => void;

function isOfJob(event: LiveEvent): event is JobLiveEvent {
  return 'job' in event || event.type === 'job.progress';
}

/** Notifies listeners of what has been committed. A listener that throws is a bug and must not stop the others. */
export class EventBus {
  readonly #listeners = new Set<Listener>();
  /** Callers that wait for the end of one job. */
  readonly #waiting = new Map<string, Set<(job: JobRecord) => void>>();
  /** Listeners to one job each. */
  readonly #byJob = new Map<string, Set<(event: JobLiveEvent) => void>>();
  readonly #onError: (error: unknown) => void;
  #machineWatchers = 0;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Publish transitions from now on. The returned function ends that. */
  watchMachines(): () => void {
    this.#machineWatchers += 1;
    let isWatching = true;
    return () => {
      if (isWatching) this.#machineWatchers -= 1;
      isWatching = false;
    };
  }

  /** An actor has handled an event. Published while somebody watches and the state has changed; otherwise it costs one check. */
  handled(
    machine: MachineName,
    actorId: string,
    change: { before: StateValue | null; after: StateValue; event: string; at: number },
  ): void {
    if (this.#machineWatchers === 0) return;
    const { before, after, event, at } = change;
    const from = before === null ? [] : pathsOf(before);
    for (const [region, to] of pathsOf(after).entries()) {
      const was = from[region] ?? null;
      if (was !== to) this.publish({ type: 'transition', at, machine, actorId, from: was, to, event });
    }
  }

  /** A change of a job is durable. */
  follow({ before, after, event }: Committed): void {
    const at = after.life.updatedAt;
    const change = { before: before?.state ?? null, after: after.state };
    this.handled('job', after.id, { ...change, event: event?.type ?? 'job.created', at });
    const type = jobEventType(before, after);
    if (type !== null) this.publish({ type, at, job: after });
  }

  /** Publish to those who listen to all events, then to those who listen to its job alone. */
  publish(event: LiveEvent): void {
    for (const listener of this.#listeners) this.#notify(listener, event);
    if (this.#byJob.size > 0 && isOfJob(event)) {
      const jobId = 'job' in event ? event.job.id : event.jobId;
      for (const listener of this.#byJob.get(jobId) ?? []) this.#notify(listener, event);
    }
    if ('job' in event && isTerminal(event.job.state)) this.#release(event.job);
  }

  /** Call `listener` with every event of one job; its cost does not grow with the other jobs. The returned function ends it. */
  subscribeJob(jobId: string, listener: (event: JobLiveEvent) => void): () => void {
    const listeners = this.#byJob.get(jobId) ?? new Set();
    this.#byJob.set(jobId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byJob.get(jobId) === listeners) this.#byJob.delete(jobId);
    };
  }

  #notify<E>(listener: (event: E) => void, event: E): void {
    try {
      listener(event);
    } catch (error) {
      this.#onError(error);
    }
  }

  /** Call `done` once, when the job has ended. The returned function takes it back. */
  onEnd(jobId: string, done: (job: JobRecord) => void): () => void {
    const waiting = this.#waiting.get(jobId) ?? new Set();
    this.#waiting.set(jobId, waiting.add(done));
    return () => {
      waiting.delete(done);
      if (waiting.size === 0 && this.#waiting.get(jobId) === waiting) this.#waiting.delete(jobId);
    };
  }

  #release(job: JobRecord): void {
    const waiting = this.#waiting.get(job.id);
    if (waiting === undefined) return;
    this.#waiting.delete(job.id);
    for (const done of waiting) done(job);
  }
}
