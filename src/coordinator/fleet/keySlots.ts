import { slotsMax, slotsUnbound } from '../../domain/limits.ts';
import { isResized, type WorkerKey, type WorkerLife, wantedSlots } from '../../domain/worker.ts';
import type { WorkerSession } from './workerSession.ts';

/** What it works with. `E` is a worker that is known, connected or not. */
interface Fleet<E> {
  all(): Iterable<E>;
  lifeOf(entry: E): WorkerLife;
  /** The worker has so many slots from now on. */
  limit(entry: E, concurrency: number): void;
}

/** Divides the slots of a key among the workers that are connected with it: those that came first have theirs first. */
export class KeySlots<E extends { readonly session: WorkerSession | null }> {
  readonly #fleet: Fleet<E>;

  constructor(fleet: Fleet<E>) {
    this.#fleet = fleet;
  }

  /** Slots that the key of a worker leaves it, those of the workers that came before it apart; without a bound no end of them. */
  leftFor(entry: E): number {
    const { session } = entry;
    const max = session?.key.bounds?.maxConcurrency ?? null;
    if (session === null || max === null) return Number.POSITIVE_INFINITY;
    const sharing = this.#sharing(session.key.keyId);
    const before = sharing.slice(0, sharing.indexOf(entry));
    const taken = before.reduce((sum, one) => sum + this.#fleet.lifeOf(one).concurrency, 0);
    return Math.max(0, max - taken);
  }

  /**
   * Look again at how many slots each worker of a key has.
   * @param changed the one that is looked at when the key is not bound: then they do not take from each other.
   */
  divide({ keyId, bounds }: WorkerKey, changed: E | null): void {
    const max = bounds?.maxConcurrency ?? null;
    if (max === null) {
      if (changed !== null) this.#give(changed, null);
      return;
    }
    let left = max;
    for (const entry of this.#sharing(keyId)) left -= this.#give(entry, left);
  }

  /** @param left null when the key is not bound. @returns how many it has now. */
  #give(entry: E, left: number | null): number {
    const life = this.#fleet.lifeOf(entry);
    const most = left ?? (isResized(life) ? slotsMax : slotsUnbound);
    const concurrency = Math.max(0, Math.min(wantedSlots(life), most, slotsMax));
    if (concurrency !== life.concurrency) this.#fleet.limit(entry, concurrency);
    return concurrency;
  }

  /** The connected workers of a key, in the order in which they came. */
  #sharing(keyId: string): E[] {
    const cameAt = (entry: E): number => this.#fleet.lifeOf(entry).connectedAt ?? 0;
    return [...this.#fleet.all()]
      .filter(({ session }) => session?.key.keyId === keyId)
      .sort((a, b) => cameAt(a) - cameAt(b));
  }
}
