import { statusOf } from '../../domain/states.ts';
import type { Store } from '../../store/store.ts';
import type { Committed } from '../core/index.ts';

/** How many jobs are pending in the store, in all and by the key that made them; kept up to date by every commit. */
export class Pending {
  #total = 0;
  #byKey = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  /** Those that a key has made. */
  of(keyId: string): number {
    return this.#byKey.get(keyId) ?? 0;
  }

  /** Count what an open store has. */
  async open(store: Pick<Store, 'counts' | 'pendingByKey'>): Promise<void> {
    this.#total = (await store.counts()).byStatus.pending;
    this.#byKey = await store.pendingByKey();
  }

  /** A change is durable. */
  follow({ before, after }: Committed): void {
    const wasPending = before !== null && statusOf(before.state) === 'pending';
    const isPending = statusOf(after.state) === 'pending';
    if (isPending === wasPending) return;
    const change = isPending ? 1 : -1;
    this.#total += change;
    if (after.createdBy === null) return;
    const { keyId } = after.createdBy;
    const left = this.of(keyId) + change;
    if (left === 0) this.#byKey.delete(keyId);
    else this.#byKey.set(keyId, left);
  }
}
