/**
 * Brings things up to date, one task of each at a time: asked for again meanwhile, a thing is looked at once more when the
 * task has ended, so that no change is missed and none is handled twice at once.
 */
export class Lookout {
  readonly #task: (id: string) => Promise<void>;
  readonly #failed: (id: string, error: unknown) => void;
  /** What is looked at now; true: once more after that. */
  readonly #looking = new Map<string, boolean>();
  readonly #tasks = new Set<Promise<void>>();

  /** @param failed called when a task has thrown; the thing is then not looked at again by itself. */
  constructor(task: (id: string) => Promise<void>, failed: (id: string, error: unknown) => void) {
    this.#task = task;
    this.#failed = failed;
  }

  /** Resolves when nothing is looked at. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  look(id: string): void {
    if (this.#looking.has(id)) {
      this.#looking.set(id, true);
      return;
    }
    this.#looking.set(id, false);
    const task = this.#task(id)
      .then(
        () => {
          if (this.#end(id)) this.look(id);
        },
        (error: unknown) => {
          this.#end(id);
          this.#failed(id, error);
        },
      )
      .finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** @returns whether it was asked for meanwhile. */
  #end(id: string): boolean {
    const isAgain = this.#looking.get(id) === true;
    this.#looking.delete(id);
    return isAgain;
  }
}
