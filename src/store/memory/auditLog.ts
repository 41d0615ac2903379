/* The last entries of the audit log, until the durable log returns them itself; and the search through both. Entries
   are numbered from the first ever; a crash loses none that was committed. */

import type { AuditEntry, AuditRecord } from '../../domain/audit.ts';
import { messageOf, StoreUnavailable } from '../../domain/errors.ts';
import { nextTurn } from '../../lib/nextTurn.ts';
import type { AuditSink } from '../changes/apply.ts';
import type { AuditPage, AuditQuery } from '../store.ts';

/** Matches counted before a total is shown as "at least". */
const countedMax = 10_000;
/** Entries in memory checked between two turns of the event loop: under 1 ms. */
const entriesPerTurn = 1_000;

/** Reads the entries in the log, newest first. @param since epoch ms. @param until epoch ms, null for none. */
type KeptEntries = (since: number, until: number | null) => AsyncIterable<AuditEntry[]>;

/** The audit log: the last entries in memory, some 500 bytes each, until the durable log returns them. */
export class AuditLog implements AuditSink {
  /** Number of the last entry that the durable log returns. */
  #keptSeq = 0;
  /** The later entries, in order. */
  #recent: AuditEntry[] = [];

  /** Number of the last entry. */
  get seq(): number {
    return this.#keptSeq + this.#recent.length;
  }

  /** The durable log returns the entries up to this number from now on. */
  kept(seq: number): void {
    this.#recent = this.#recent.slice(Math.max(0, seq - this.#keptSeq));
    this.#keptSeq = seq;
  }

  add(record: AuditRecord): void {
    this.#recent.push({ seq: this.seq + 1, ...record });
  }

  /**
   * Entries of the query, newest first. Reads older ones from the durable log until the page is full and 10,000 matches
   * are counted.
   * @param from epoch ms: older entries have expired, and are not shown. @throws StoreUnavailable when they cannot be
   * read.
   */
  async page(query: AuditQuery, from: number, keptEntries: KeptEntries): Promise<AuditPage> {
    const end = query.offset + query.limit;
    const matchesMax = Math.max(countedMax, end);
    const isMatch = matchOf(query, from);
    const entries: AuditEntry[] = [];
    let total = 0;
    try {
      // Copied before the first await: an entry is either among the recent ones or in the log.
      const recent = this.#recent.toReversed();
      const kept = keptEntries(Math.max(from, query.since ?? from), query.until);
      for await (const batch of newestFirst(recent, kept)) {
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
}

async function* newestFirst(
  recent: readonly AuditEntry[],
  kept: AsyncIterable<AuditEntry[]>,
): AsyncGenerator<AuditEntry[]> {
  for (let first = 0; first < recent.length; first += entriesPerTurn) {
    if (first > 0) await nextTurn();
    yield recent.slice(first, first + entriesPerTurn);
  }
  yield* kept;
}

function matchOf({ since, until, actor, actions }: AuditQuery, from: number): (entry: AuditEntry) => boolean {
  const begin = Math.max(from, since ?? from);
  return ({ at, by, action }) =>
    at >= begin &&
    (until === null || at < until) &&
    (actor === null || by.actor?.keyId === actor || by.actor?.name === actor) &&
    (actions.length === 0 || actions.includes(action));
}
