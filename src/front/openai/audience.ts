import type { Clock } from '../../domain/clock.ts';

/** How long a request with an idempotency key may take to come again after its connection broke, ms: SDKs take 8 s. */
export const returnMs = 30_000;

/** One request that waits. */
export interface Listener {
  /** Aborted when its client has gone. */
  gone: AbortSignal;
  /** The job continues when its client hangs up. */
  outlivesClient: boolean;
  /** It can be sent again to wait for the same job. */
  isKeyed: boolean;
  clock: Clock;
  /**
   * Called when all clients of the job have gone, and none has come back in time. `outlivesClients`: one of them asked for
   * the job to continue.
   */
  onLeft: (outlivesClients: boolean) => void;
}

interface Waiting {
  count: number;
  /** One of them asked for it. */
  outlivesClients: boolean;
  isKeyed: boolean;
  /** While nobody waits any more, and somebody may come back. */
  cancelReturn: (() => void) | null;
}

/** The requests that wait for each job now. Several share one when they have the same idempotency key. */
export class Audience {
  readonly #waiting = new Map<string, Waiting>();

  /** A request waits for a job, until it leaves or its client has gone. @returns leaves; a second call does nothing. */
  enter(jobId: string, { gone, outlivesClient, isKeyed, clock, onLeft }: Listener): () => void {
    let isHere = true;
    const waiting = this.#waiting.get(jobId) ?? nobody();
    this.#waiting.set(jobId, waiting);
    waiting.cancelReturn?.();
    waiting.cancelReturn = null;
    waiting.count += 1;
    waiting.outlivesClients ||= outlivesClient;
    waiting.isKeyed ||= isKeyed;
    const leave = (): void => {
      if (!isHere) return;
      isHere = false;
      waiting.count -= 1;
      if (waiting.count > 0) return;
      const end = (): void => {
        this.#waiting.delete(jobId);
        if (gone.aborted) onLeft(waiting.outlivesClients);
      };
      if (!gone.aborted || waiting.outlivesClients || !waiting.isKeyed) end();
      else waiting.cancelReturn = clock.after(returnMs, end);
    };
    gone.addEventListener('abort', leave, { once: true });
    if (gone.aborted) leave();
    return leave;
  }
}

const nobody = (): Waiting => ({ count: 0, outlivesClients: false, isKeyed: false, cancelReturn: null });
