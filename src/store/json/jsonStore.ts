/* The embedded store: `MemoryStore` over the log of one folder. It decides nothing else. */

import { MemoryStore, type MemoryStoreOptions } from '../memory/memoryStore.ts';
import type { Store } from '../store.ts';
import { JournalLog, type JournalLogOptions } from './journalLog.ts';

const defaultAuditKeptMs = 400 * 86_400_000;

/** The options of the store. */
export interface JsonStoreOptions
  extends Omit<MemoryStoreOptions, 'auditKeptMs'>,
    Omit<JournalLogOptions, 'auditKeptMs'> {
  /** How long entries of the audit log are kept, ms; 400 days by default. */
  auditKeptMs?: (() => number) | undefined;
}

/** The embedded store, with what only its own tests and benchmarks use. */
export interface JsonStore extends Store {
  /** Seal the journal and make a checkpoint now; resolves when none is running. */
  checkpoint(): Promise<void>;
}

/** The embedded store: everything in memory, over the journal of one folder. One process per folder. */
export function createJsonStore(options: JsonStoreOptions): JsonStore {
  const { auditKeptMs = () => defaultAuditKeptMs } = options;
  const log = new JournalLog({ ...options, auditKeptMs });
  return new FolderStore(log, { ...options, auditKeptMs });
}

class FolderStore extends MemoryStore implements JsonStore {
  readonly #log: JournalLog;

  constructor(log: JournalLog, options: MemoryStoreOptions) {
    super(log, options);
    this.#log = log;
  }

  checkpoint(): Promise<void> {
    return this.#log.checkpoint();
  }
}
