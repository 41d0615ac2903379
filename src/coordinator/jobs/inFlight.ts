/** Jobs that are held together, until each is let go. */
export interface HeldGroup {
  /** Hold a job that is not held. */
  hold(id: string): void;
  /** Let one of them go, for those who come from now on. */
  letGo(id: string): void;
  /** Let all of them go, also for those who wait. */
  end(): void;
}

/** The events in flight: one per job at a time, later ones queue behind its commit. */
export class InFlight {
  /** The end of the last event in flight, by job. */
  readonly #tails = new Map<string, Promise<void>>();

  /** The end of what is in flight for this job, which never rejects; null when there is nothing. */
  of(id: string): Promise<void> | null {
    return this.#tails.get(id) ?? null;
  }

  /** Hold a job that is not held, until the returned function is called. */
  hold(id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(id, promise);
    return () => {
      this.#endTail(id, promise);
      resolve();
    };
  }

  /** Hold many jobs, which costs one promise for all of them. */
  group(): HeldGroup {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ids = new Set<string>();
    const letGo = (id: string): void => {
      ids.delete(id);
      this.#endTail(id, promise);
    };
    return {
      hold: (id) => {
        ids.add(id);
        this.#tails.set(id, promise);
      },
      letGo,
      end: () => {
        for (const id of ids) letGo(id);
        resolve();
      },
    };
  }

  /** Run `task` after everything of this job that is in flight. */
  async serial<T>(id: string, task: () => Promise<T>): Promise<T> {
    const ahead = this.#tails.get(id);
    const letGo = this.hold(id);
    if (ahead !== undefined) await ahead;
    try {
      return await task();
    } finally {
      letGo();
    }
  }

  #endTail(id: string, tail: Promise<void>): void {
    if (this.#tails.get(id) === tail) this.#tails.delete(id);
  }
}
