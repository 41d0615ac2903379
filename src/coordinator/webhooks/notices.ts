import type { Clock } from '../../domain/clock.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { Deadlines, EventBus } from '../core/index.ts';
import type { Courier } from './courier.ts';
import { durably } from './durably.ts';
import type { Happening, Outbox } from './outbox.ts';

/** Notices that wait for the store at a time; beyond it they are only logged. */
const waitingMax = 1_000;

export interface NoticeParts {
  clock: Clock;
  deadlines: Deadlines;
  store: Store;
  bus: EventBus;
  outbox: Outbox;
  courier: Courier;
  logger: Logger;
}

/** Makes deliveries of what is no commit of its own: a worker that is lost, a provider that is stopped. */
export class Notices {
  readonly #parts: NoticeParts;
  /** Names of providers whose circuit breaker is open. */
  readonly #stopped = new Set<string>();
  #waiting = 0;
  #isClosed = false;
  #unsubscribe = () => {};

  constructor(parts: NoticeParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#unsubscribe = this.#parts.bus.subscribe((event) => {
      if (event.type === 'provider.opened') this.#providerStopped(event.provider.name);
      else if (event.type === 'provider.recovered') this.#stopped.delete(event.provider.name);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
  }

  /** A worker has gone without a word. */
  workerLost({ id, name }: { id: string; name: string }): void {
    this.#notice({ type: 'worker.lost', data: { id, name } });
  }

  /** Once, however often it is probed in vain. */
  #providerStopped(name: string): void {
    if (this.#stopped.has(name)) return;
    this.#stopped.add(name);
    this.#notice({ type: 'provider.stopped', data: { id: name } });
  }

  #notice(happening: Happening): void {
    const { clock, courier, outbox, logger, store } = this.#parts;
    const deliveries = outbox.ofOther(happening, clock.now());
    if (deliveries.length === 0) return;
    const { type, data } = happening;
    if (this.#waiting >= waitingMax) {
      logger.warn({ type, ...data }, 'the store takes no writes; no webhook is notified of an event');
      return;
    }
    this.#waiting += 1;
    const commit = async () => {
      await store.commit(deliveries.map((delivery) => ({ kind: 'delivery', delivery })));
      courier.take(deliveries);
    };
    durably(this.#parts, () => this.#isClosed, commit)
      .catch((error: unknown) => logger.warn({ type, error: messageOf(error) }, 'no webhook is notified'))
      .finally(() => {
        this.#waiting -= 1;
      });
  }
}
