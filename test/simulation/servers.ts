import type { WireFailure } from '../../src/domain/workerProtocol.ts';

/** What is wrong with the model server of one worker, or with its key there. */
export type Trouble = 'down' | 'loading' | 'refused' | 'missing' | 'failing';

export const troubles: readonly Trouble[] = ['down', 'down', 'loading', 'refused', 'missing', 'failing'];

/** Said in the message of every failure that comes from such a trouble, so that it is told from those by chance. */
const mark = 'its server is';

const failures: Record<Trouble, Omit<WireFailure, 'message'>> = {
  down: { class: 'network', code: 'ECONNREFUSED' },
  loading: { class: 'model_not_loaded', code: 'model_loading', status: 503 },
  refused: { class: 'auth', status: 401 },
  missing: { class: 'model_not_found', status: 404 },
  failing: { class: 'server_error', status: 500 },
};

export function failureBy(trouble: Trouble): WireFailure {
  return { ...failures[trouble], message: `${mark} ${trouble}` };
}

/** The trouble that a job's error came from; null when it was another one. */
export function troubleIn(message: string): Trouble | null {
  return troubles.find((trouble) => message.includes(`${mark} ${trouble}`)) ?? null;
}

/** The model servers of one worker, by provider, over all of its processes. */
export class Servers {
  readonly #now: () => number;
  readonly #troubles = new Map<string, Trouble>();
  /** Of the last failure that could have put the worker aside, and of the last one that does so for long; monotonic ms. */
  readonly #failedAt = new Map<string, number>();
  readonly #refusedAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  trouble(provider: string): Trouble | null {
    return this.#troubles.get(provider) ?? null;
  }

  break(provider: string, trouble: Trouble): void {
    this.#troubles.set(provider, trouble);
  }

  /** One is well again, or all of them. */
  mend(provider?: string): void {
    if (provider === undefined) this.#troubles.clear();
    else this.#troubles.delete(provider);
  }

  /** A run failed with this class. */
  failed(provider: string, errorClass: string): void {
    if (['rate_limited', 'content_filtered'].includes(errorClass)) return;
    this.#failedAt.set(provider, this.#now());
    if (['auth', 'model_not_found'].includes(errorClass)) this.#refusedAt.set(provider, this.#now());
  }

  /** Whether nothing was wrong for longer than the coordinator may pass a worker over. */
  isWell(provider: string): boolean {
    const since = this.#now() - (this.#failedAt.get(provider) ?? Number.NEGATIVE_INFINITY);
    const sinceRefused = this.#now() - (this.#refusedAt.get(provider) ?? Number.NEGATIVE_INFINITY);
    return this.trouble(provider) === null && since > 90_000 && sinceRefused > 3 * 3_600_000;
  }
}
