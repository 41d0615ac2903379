import { StoreUnavailable } from '../../src/domain/errors.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { endedAt } from '../../src/store/changes/apply.ts';
import type {
  DurableLog,
  LogHealth,
  LogHost,
  LogRecord,
  PendingAppend,
  Staged,
} from '../../src/store/durableLog.ts';
import { StoreLocked } from '../../src/store/storeErrors.ts';

/** What a `MemoryLog` keeps: it outlives the log, as a folder or a database does. */
export class LogPlace {
  /** The durable records, each the JSON of its changes. */
  readonly records: string[][] = [];
  readonly archive = new Map<string, JobRecord>();
  isOpen = false;
}

/** How the next appends end: at once, refused, or when the test says so. */
type Outcome = 'done' | 'refused' | 'pending';

/** A group whose outcome the log does not tell yet. */
export interface HeldGroup {
  /** How many records it has. */
  readonly size: number;
  /** It turns out to be durable. */
  keep(): void;
  /** It turns out that nothing of it was kept. */
  refuse(error?: Error): void;
}

/** A log without a disk: the second implementation of the port, which can be pending. */
export class MemoryLog implements DurableLog {
  readonly place: LogPlace;
  outcome: Outcome = 'done';
  /** Those that are pending, in order; there is never more than one that is not settled. */
  readonly held: HeldGroup[] = [];
  #host: LogHost | null = null;
  #archiving: Promise<void> = Promise.resolve();

  constructor(place: LogPlace) {
    this.place = place;
  }

  async open(host: LogHost): Promise<void> {
    if (this.place.isOpen) throw new StoreLocked('another store has the place');
    this.place.isOpen = true;
    this.#host = host;
    host.load.registry({});
    for (const texts of this.place.records) {
      for (const text of texts) host.load.change(JSON.parse(text));
    }
  }

  async append(group: readonly LogRecord[]): Promise<PendingAppend | null> {
    // As a real one, it takes its time.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.outcome === 'refused') throw new Error('no space is left');
    if (this.outcome === 'pending') return this.#hold(group);
    this.#keep(group);
    return null;
  }

  /** The log finds out by itself that it cannot be trusted any more. */
  fail(error: Error): void {
    this.#host?.fail(error);
  }

  async afterGroup(): Promise<void> {}

  alone<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#archiving.then(task);
    this.#archiving = run.then(
      () => {},
      () => {},
    );
    return run;
  }

  async archive(jobs: readonly JobRecord[]): Promise<Staged> {
    if (this.outcome === 'refused') throw new StoreUnavailable('the archive cannot be written');
    const { archive } = this.place;
    return {
      keep: async () => {
        for (const job of jobs) archive.set(job.id, job);
      },
      drop: () => {},
    };
  }

  async find(id: string): Promise<JobRecord | undefined> {
    return this.place.archive.get(id);
  }

  async *archived(): AsyncGenerator<JobRecord[]> {
    const dayOf = (job: JobRecord): number => Math.floor(endedAt(job) / 86_400_000);
    yield [...this.place.archive.values()].sort((a, b) => dayOf(b) - dayOf(a));
  }

  async *audit(): AsyncGenerator<never> {
    // Memory never lets go of an entry.
  }

  health(): LogHealth {
    return { detail: null, bytes: 0 };
  }

  async close(): Promise<void> {
    this.place.isOpen = false;
  }

  #keep(group: readonly LogRecord[]): void {
    for (const { texts } of group) if (texts.length > 0) this.place.records.push([...texts]);
  }

  #hold(group: readonly LogRecord[]): PendingAppend {
    const { promise: known, resolve, reject } = Promise.withResolvers<void>();
    this.held.push({
      size: group.length,
      keep: () => {
        this.#keep(group);
        resolve();
      },
      refuse: (error = new Error('the connection was lost before the commit')) => reject(error),
    });
    return { detail: 'the connection was lost in a commit', known };
  }
}
