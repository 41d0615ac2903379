import type { Annotation } from '../../domain/annotation.ts';
import type { Clock } from '../../domain/clock.ts';
import { KeyedQueue } from '../../lib/keyedQueue.ts';
import type { Store } from '../../store/store.ts';

/** What clients have changed about the answers of jobs. */
export class Annotations {
  readonly #store: Store;
  readonly #clock: Clock;
  /** One change of an annotation after the other: each is made from the one before. */
  readonly #queue = new KeyedQueue();

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** undefined when nothing was changed. */
  get(jobId: string): Promise<Annotation | undefined> {
    return this.#store.annotation(jobId);
  }

  /** Change what is given and keep the rest; durable when it resolves. @throws StoreUnavailable. */
  change(jobId: string, change: Partial<Pick<Annotation, 'isDeleted' | 'metadata'>>): Promise<Annotation> {
    return this.#queue.run(jobId, async () => {
      const before = (await this.get(jobId)) ?? { isDeleted: false, metadata: null };
      const annotation: Annotation = { ...before, ...change, jobId, at: this.#clock.now() };
      await this.#store.commit([{ kind: 'annotation', annotation }]);
      return annotation;
    });
  }
}
