/** Runs tasks of the same key one after the other, and those of different keys concurrently. */
export class KeyedQueue {
  /** By key: the end of the last queued task. */
  readonly #tails = new Map<string, Promise<void>>();

  /** Run `task` when every earlier one of `key` has settled. @returns what it returned or threw. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const ahead = this.#tails.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(key, promise);
    await ahead;
    try {
      return await task();
    } finally {
      if (this.#tails.get(key) === promise) this.#tails.delete(key);
      resolve();
    }
  }
}
