/* Converts the ledger of format 1 to the present form when read. Nothing is written in the old form. */

import { noAmounts } from '../../../domain/cost.ts';
import type { CostStatus, NanoDollars } from '../../../domain/money.ts';
import type { Usage } from '../../../domain/usage.ts';
import type { StoredChange } from '../../durableLog.ts';
import type { LedgerEntry } from '../../store.ts';

/** A ledger line of format 1: the end of an attempt, or a later charge for an ended one. */
interface FormerEntry extends Omit<LedgerEntry, 'amounts' | 'tier' | 'tags'> {
  usage: Usage | null;
  nanoDollars: NanoDollars | null;
  costStatus: CostStatus;
}

/** Convert the ledger of a change from a journal of any format to the present one, in place. */
export function upgradeLedger(change: StoredChange): void {
  if (change.kind === 'job' && change.ledger !== undefined) change.ledger = change.ledger.map(entryOf);
}

/** Format 1 had no jobs, tiers and tags in the ledger. */
function entryOf(stored: LedgerEntry | FormerEntry): LedgerEntry {
  if ('amounts' in stored) return stored;
  const { usage, nanoDollars, costStatus, ...place } = stored;
  const amounts = {
    ...noAmounts,
    attempts: place.outcome === null ? 0 : 1,
    nanoDollars: nanoDollars ?? 0,
    unknown: costStatus === 'unknown' && place.outcome !== null ? 1 : 0,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cachedInputTokens: usage?.cachedInputTokens ?? 0,
    reasoningTokens: usage?.reasoningTokens ?? 0,
  };
  return { ...place, tier: null, tags: [], amounts };
}
