import type { Clock } from '../../domain/clock.ts';
import { messageOf } from '../../domain/errors.ts';
import type { ProviderHold } from '../../domain/provider.ts';
import type { Logger } from '../../lib/log.ts';
import type { Change, Store } from '../../store/store.ts';
import type { Deadline, Deadlines } from '../core/index.ts';

/** Between two commits of one provider, also after one that failed: a limit that is longer with each 429 costs no more. */
const pauseMs = 1_000;

interface Entry {
  /** What is to be stored; null for nothing. */
  wanted: ProviderHold | null;
  /** What is stored. */
  stored: ProviderHold | null;
  /** The commit under way, which never rejects. */
  writing: Promise<void> | null;
  /** Until the next commit may begin. */
  pause: Deadline | null;
}

/**
 * Keeps in the store what holds providers back, so that a restart does not ask a provider again in the middle of its limit.
 * A change is written at once, and further ones of the same provider once a second, the newest only: a kill loses at most
 * the changes of the last second. No job waits for it.
 */
export class ProviderHolds {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();

  constructor(options: { store: Store; clock: Clock; deadlines: Deadlines; logger: Logger }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#logger = options.logger;
  }

  /** What the store has, one a provider. @throws StoreUnavailable. */
  async open(): Promise<ProviderHold[]> {
    const holds = await this.#store.providers();
    for (const hold of holds) {
      this.#entries.set(hold.name, { wanted: hold, stored: hold, writing: null, pause: null });
    }
    return holds;
  }

  /** A provider is held back like this now; null: nothing holds it back. */
  note(name: string, hold: ProviderHold | null): void {
    this.#entry(name).wanted = hold;
    this.#write(name);
  }

  /**
   * Let nothing hold a provider back, in one commit with `others`; also not what is noted while that is made. Durable when it
   * resolves.
   * @throws StoreUnavailable; what held it back is as it was then.
   */
  async clear(name: string, others: readonly Change[]): Promise<void> {
    for (let writing = this.#writing(name); writing !== null; writing = this.#writing(name)) await writing;
    const entry = this.#entry(name);
    const removal: Change[] = entry.stored === null ? [] : [{ kind: 'providerRemoved', name }];
    const commit = this.#store.commit([...removal, ...others]);
    entry.writing = commit
      .then(
        () => {
          entry.stored = null;
          entry.wanted = null;
        },
        // The caller handles it.
        () => {},
      )
      .finally(() => {
        entry.writing = null;
        this.#write(name);
      });
    await commit;
  }

  /** Store what waits: before the store closes. Never rejects. */
  async flush(): Promise<void> {
    for (const [name, entry] of this.#entries) {
      this.#deadlines.clear(entry.pause);
      entry.pause = null;
      await entry.writing;
      if (entry.wanted !== entry.stored) await this.#commit(name, entry);
    }
  }

  #entry(name: string): Entry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const entry: Entry = { wanted: null, stored: null, writing: null, pause: null };
    this.#entries.set(name, entry);
    return entry;
  }

  #writing(name: string): Promise<void> | null {
    return this.#entries.get(name)?.writing ?? null;
  }

  #write(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.writing !== null || entry.pause !== null) return;
    if (entry.wanted === entry.stored) {
      if (entry.stored === null) this.#entries.delete(name);
      return;
    }
    entry.writing = this.#commit(name, entry).finally(() => {
      entry.writing = null;
      entry.pause = this.#deadlines.set(this.#clock.monotonic() + pauseMs, () => {
        entry.pause = null;
        this.#write(name);
      });
    });
  }

  async #commit(name: string, entry: Entry): Promise<void> {
    const { wanted } = entry;
    try {
      await this.#store.commit([
        wanted === null ? { kind: 'providerRemoved', name } : { kind: 'provider', hold: wanted },
      ]);
      entry.stored = wanted;
    } catch (error) {
      this.#logger.warn(
        { provider: name, error: messageOf(error) },
        'what holds a provider back could not be stored; tried again soon',
      );
    }
  }
}
