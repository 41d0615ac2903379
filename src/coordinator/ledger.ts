import type { Attempt, JobLife } from '../domain/job.ts';
import type { LedgerEntry } from '../store/store.ts';

/**
 * What a change adds to the ledger: one entry for every attempt that ended with it, and one for an attempt that had
 * ended and was still charged for. A late result turns `reaped` or `lost` into `completed`; it is the attempt's one
 * entry with a cost, since taking it back cost nothing.
 */
export function ledgerOf(before: JobLife, after: JobLife): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (const [index, attempt] of after.attempts.entries()) {
    const old = before.attempts[index];
    if (old === attempt || attempt.outcome === null) continue;
    if (old !== undefined && old.outcome === attempt.outcome && old.usage === attempt.usage) continue;
    entries.push(
      entryOf(attempt, old?.outcome === attempt.outcome ? null : attempt.outcome, after.updatedAt),
    );
  }
  return entries;
}

function entryOf(attempt: Attempt, outcome: LedgerEntry['outcome'], at: number): LedgerEntry {
  return {
    at,
    lease: attempt.lease,
    workerId: attempt.workerId,
    provider: attempt.provider,
    model: attempt.model,
    outcome,
    usage: attempt.usage,
    nanoDollars: attempt.cost.nanoDollars,
    costStatus: attempt.cost.status,
  };
}
