/**
 * Which key the worker uses. Its own ones (environment, then file) go before the one of the remote configuration; but a
 * key that the coordinator has refused is passed over as long as there is one that it has not. So a rotated key that
 * stands in the remote configuration is taken up by a worker whose environment still holds the old one, without a
 * restart. When all have been refused they are tried in turn: one that was refused by mistake is found again.
 */
export class ApiKeys {
  readonly #own: readonly string[];
  readonly #refused = new Set<string>();
  #remote: string | null = null;
  #inUse: string | null = null;

  /** @param own first to last; those that are not set are left out. */
  constructor(own: readonly (string | null)[]) {
    this.#own = [...new Set(own.filter((key) => key !== null))];
  }

  /** The key of the next attempt to connect; null when there is none at all. */
  get best(): string | null {
    const all = this.#all();
    const fresh = all.find((key) => !this.#refused.has(key));
    if (fresh !== undefined) return fresh;
    const last = this.#inUse === null ? -1 : all.indexOf(this.#inUse);
    return all[(last + 1) % Math.max(1, all.length)] ?? null;
  }

  /** The same, and it is being tried now. */
  take(): string {
    this.#inUse = this.best;
    return this.#inUse ?? '';
  }

  /** The coordinator refuses the key that was taken last. @returns whether there is one that it has not refused. */
  refused(): boolean {
    if (this.#inUse !== null) this.#refused.add(this.#inUse);
    return this.#all().some((key) => !this.#refused.has(key));
  }

  /**
   * What the remote configuration names now; null for none.
   * @returns whether that is a way out: the key in use has been refused, and this one has not.
   */
  setRemote(key: string | null): boolean {
    if (key === this.#remote) return false;
    const isStuck = this.#inUse !== null && this.#refused.has(this.#inUse);
    if (this.#remote !== null && !this.#own.includes(this.#remote)) this.#refused.delete(this.#remote);
    this.#remote = key;
    return key !== null && isStuck && !this.#refused.has(key);
  }

  #all(): string[] {
    return this.#remote === null ? [...this.#own] : [...new Set([...this.#own, this.#remote])];
  }
}
