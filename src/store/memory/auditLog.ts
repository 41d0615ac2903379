import type { AuditEntry, AuditRecord } from '../../domain/audit.ts';
import { messageOf, StoreUnavailable } from '../../domain/errors.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import { endOf, type FoldedAudit, readAudit } from '../json/audit/auditFile.ts';
import type { Files } from '../json/files.ts';
import type { AuditPage, AuditQuery } from '../store.ts';

/** Where the entries of the audit log go. */
export interface AuditSink {
  add(record: AuditRecord): void;
}

/** Entries that match before a total is given as "at least". */
const countedMax = 10_000;
/** Entries of the memory that are looked at between two turns of the event loop: under 1 ms. */
const entriesPerTurn = 1_000;

/**
 * The audit log: the entries since the last checkpoint in memory, some 500 bytes each, and those before in one file a
 * month. The store seals its journal for a checkpoint when there are too many in memory, see `unsealed`.
 */
export class AuditLog implements AuditSink {
  /** Entries since the journal was last sealed. */
  unsealed = 0;
  #folded: FoldedAudit = { seq: 0, files: [] };
  /** Those after `#folded.seq`, in order. */
  #recent: AuditEntry[] = [];

  /** A checkpoint has these; what it took in leaves the memory. */
  folded(audit: FoldedAudit): void {
    this.#recent = this.#recent.slice(Math.max(0, audit.seq - this.#folded.seq));
    this.#folded = audit;
  }

  add(record: AuditRecord): void {
    this.#recent.push({ seq: this.#folded.seq + this.#recent.length + 1, ...record });
    this.unsealed += 1;
  }

  /**
   * Entries of the query, newest first. Reads files from the last month back until the page is full and 10,000 matches
   * are counted.
   * @param from epoch ms: older entries are over, and not shown. @throws StoreUnavailable when a file cannot be read.
   */
  async page(files: Files, folder: string, query: AuditQuery, from: number): Promise<AuditPage> {
    const end = query.offset + query.limit;
    const matchesMax = Math.max(countedMax, end);
    const isMatch = matchOf(query, from);
    const entries: AuditEntry[] = [];
    let total = 0;
    try {
      for await (const batch of this.#newestFirst(
        files,
        folder,
        Math.max(from, query.since ?? from),
        query,
      )) {
        for (const entry of batch) {
          if (!isMatch(entry)) continue;
          if (total === matchesMax) return { entries, total, totalCapped: true };
          if (total >= query.offset && total < end) entries.push(entry);
          total += 1;
        }
      }
    } catch (error) {
      throw new StoreUnavailable(`the audit log cannot be read: ${messageOf(error)}`, error);
    }
    return { entries, total, totalCapped: false };
  }

  /** Batches of what there is at the moment of the call. @param since epoch ms: months before are not read. */
  async *#newestFirst(
    files: Files,
    folder: string,
    since: number,
    { until }: AuditQuery,
  ): AsyncGenerator<AuditEntry[]> {
    const named = this.#folded.files;
    const recent = this.#recent.toReversed();
    for (let first = 0; first < recent.length; first += entriesPerTurn) {
      if (first > 0) await nextTurn();
      yield recent.slice(first, first + entriesPerTurn);
    }
    for (const file of named.toReversed()) {
      const isWanted = endOf(file.month) > since && (until === null || Date.parse(file.month) < until);
      if (isWanted) yield* readAudit(files, folder, file);
    }
  }
}

function matchOf({ since, until, actor, actions }: AuditQuery, from: number): (entry: AuditEntry) => boolean {
  const begin = Math.max(from, since ?? from);
  return ({ at, by, action }) =>
    at >= begin &&
    (until === null || at < until) &&
    (actor === null || by.actor?.keyId === actor || by.actor?.name === actor) &&
    (actions.length === 0 || actions.includes(action));
}
