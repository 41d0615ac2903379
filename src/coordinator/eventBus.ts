import type { JobRecord } from '../domain/job.ts';
import { isTerminal, statusOf } from '../domain/states.ts';
import type { WorkerView } from '../domain/worker.ts';

export type JobEventType =
  | 'job.created'
  | 'job.started'
  | 'job.requeued'
  | 'job.completed'
  | 'job.failed'
  | 'job.cancelled';

export type WorkerEventType =
  | 'worker.connected'
  | 'worker.disconnected'
  | 'worker.paused'
  | 'worker.resumed'
  | 'worker.updated';

export type LiveEvent =
  | { type: JobEventType; at: number; job: JobRecord }
  | { type: 'job.progress'; at: number; jobId: string; lease: number; seq: number; text: string }
  | { type: WorkerEventType; at: number; worker: WorkerView };

/** What a committed change of a job is called outside; null when the status stayed. */
export function jobEventType(before: JobRecord | null, after: JobRecord): JobEventType | null {
  if (before === null) return 'job.created';
  const from = statusOf(before.state);
  const to = statusOf(after.state);
  if (from === to) return null;
  if (to === 'pending') return 'job.requeued';
  return to === 'running' ? 'job.started' : `job.${to}`;
}

type Listener = (event: LiveEvent) => void;

/** Tells whoever listens what has been committed. A listener that throws is a bug and must not stop the others. */
export class EventBus {
  readonly #listeners = new Set<Listener>();
  /** Callers that wait for the end of one job. */
  readonly #waiting = new Map<string, Set<(job: JobRecord) => void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(event: LiveEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#onError(error);
      }
    }
    if ('job' in event && isTerminal(event.job.state)) this.#release(event.job);
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
