import type { Config } from '../../config/config.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import { isPrivileged, type Principal } from '../../domain/key.ts';
import type { Pending } from './pending.ts';

/** Seconds after which a client that met a full queue tries again. */
const retryAfterSeconds = 10;

/** Whether there is room for new jobs: in the queue, in memory, and in the share of the key that sends them. */
export class Admission {
  readonly #config: () => Config;
  readonly #pending: Pending;
  readonly #isDispatching: () => boolean;
  readonly #hasRoom: () => boolean;
  /** Jobs whose commit is under way, in all and by key: they count as pending, so that a rush cannot exceed a bound. */
  #entering = 0;
  readonly #enteringOf = new Map<string, number>();

  constructor(options: {
    config: () => Config;
    pending: Pending;
    isDispatching: () => boolean;
    /** Whether the process has memory for more jobs. */
    hasRoom: () => boolean;
  }) {
    this.#config = options.config;
    this.#pending = options.pending;
    this.#isDispatching = options.isDispatching;
    this.#hasRoom = options.hasRoom;
  }

  /**
   * Make `count` jobs durable if there is room for all of them; they hold their places until `create` has ended.
   * @param by who sends them; null is held to no share.
   * @throws CoordinatorError draining; queue_full and share_exceeded when they do not fit now, invalid_request when they
   * never do; what `create` throws.
   */
  async hold<T>(count: number, by: Principal | null, create: () => Promise<T>): Promise<T> {
    this.#admit(count, by);
    this.#enter(count, by);
    try {
      return await create();
    } finally {
      this.#enter(-count, by);
    }
  }

  #enter(count: number, by: Principal | null): void {
    this.#entering += count;
    if (by === null) return;
    const left = (this.#enteringOf.get(by.keyId) ?? 0) + count;
    if (left === 0) this.#enteringOf.delete(by.keyId);
    else this.#enteringOf.set(by.keyId, left);
  }

  #admit(count: number, by: Principal | null): void {
    if (!this.#isDispatching()) {
      throw new CoordinatorError(
        'draining',
        'The coordinator is shutting down; send the job again in a moment',
        { retryAfterSeconds: 5 },
      );
    }
    const waiting = this.#pending.total + this.#entering;
    const { maxPending } = this.#config().jobs;
    if (count > maxPending) {
      // Not queue_full, after which it would be sent again for ever.
      const message = `has ${count} jobs, more than the ${maxPending} that jobs.max_pending lets wait at all; send smaller batches`;
      throw new CoordinatorError('invalid_request', `The batch ${message}`, {
        errors: [{ field: 'jobs', message }],
      });
    }
    if (!this.#hasRoom()) {
      throw new CoordinatorError(
        'queue_full',
        `The jobs that the coordinator holds fill its memory. Send this again when some have left it, or give it more (NODE_OPTIONS=--max-old-space-size)`,
        { retryAfterSeconds },
      );
    }
    if (by !== null && !isPrivileged(by.role)) this.#admitToShare(count, by.keyId, maxPending);
    if (waiting + count > maxPending) {
      throw new CoordinatorError(
        'queue_full',
        `${waiting} jobs are waiting; ${count} more would go past the ${maxPending} that jobs.max_pending allows`,
        { retryAfterSeconds },
      );
    }
  }

  #admitToShare(count: number, keyId: string, maxPending: number): void {
    const { pending: share } = this.#config().http.shares;
    const most = Math.max(1, Math.floor(share * maxPending));
    const own = this.#pending.of(keyId) + (this.#enteringOf.get(keyId) ?? 0);
    if (own + count <= most) return;
    const what = `This key has ${own} pending jobs; ${count} more would exceed its share of ${most} (http.shares.pending × jobs.max_pending).`;
    // More than the whole share never fit, however long the client waits.
    if (count > most) throw new CoordinatorError('share_exceeded', `${what} Send smaller batches`);
    const advice = 'Send this again when some of its jobs have started or ended';
    throw new CoordinatorError('share_exceeded', `${what} ${advice}`, { retryAfterSeconds });
  }
}
