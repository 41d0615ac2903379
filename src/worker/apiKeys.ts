/**
 * Which key the worker uses. Its own keys (environment, then file) come before the one of the remote configuration; but
 * a key that the coordinator has refused is skipped while there is one that it has not. So a worker whose environment
 * still holds an old key uses the rotated one of the remote configuration without a restart. When all are refused they
 * are tried in turn, so that a key refused by mistake is found again.
 */
export class ApiKeys {
  #own: readonly string[];
  readonly #refused = new Set<string>();
  #remote: string | null = null;
  #inUse: string | null = null;

  /** @param own first to last; keys that are not set are skipped. */
  constructor(own: readonly (string | null)[]) {
    this.#own = presentKeys(own);
  }

  /** Its own keys have changed. @returns whether the key in use is no longer the first choice. */
  setOwn(own: readonly (string | null)[]): boolean {
    const next = presentKeys(own);
    if (next.join(' ') === this.#own.join(' ')) return false;
    // One that is set again is tried again.
    for (const key of next) if (!this.#own.includes(key)) this.#refused.delete(key);
    this.#own = next;
    return this.#inUse !== null && this.best !== this.#inUse;
  }

  /** The key for the next connection attempt; null when there is none. */
  get best(): string | null {
    const all = this.#all();
    const fresh = all.find((key) => !this.#refused.has(key));
    if (fresh !== undefined) return fresh;
    const last = this.#inUse === null ? -1 : all.indexOf(this.#inUse);
    return all[(last + 1) % Math.max(1, all.length)] ?? null;
  }

  /** The same, marked as in use. */
  take(): string {
    this.#inUse = this.best;
    return this.#inUse ?? '';
  }

  /** The coordinator refuses the key in use. @returns whether there is one that it has not refused. */
  refused(): boolean {
    if (this.#inUse !== null) this.#refused.add(this.#inUse);
    return this.#all().some((key) => !this.#refused.has(key));
  }

  /**
   * The key of the remote configuration; null for none.
   * @returns whether that helps: the key in use is refused, and this one is not.
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

function presentKeys(keys: readonly (string | null)[]): string[] {
  return [...new Set(keys.filter((key) => key !== null))];
}
