import { addAmounts, type CostAmounts, isNothing, noAmounts } from '../../domain/cost.ts';
import { type Attempt, type JobLife, type JobRecord, lastAttempt } from '../../domain/job.ts';
import type { LedgerEntry } from '../../store/store.ts';

/**
 * What a change adds to the ledger: for every attempt and for the job itself the difference between what it contributes
 * after the change and what it contributed before. So the ledger is the sum of the attempts as they stand, whatever
 * happened to them: a result that comes late moves an attempt from `reaped` to `completed`, usage that is reported late
 * turns unknown into an amount, a retry takes back the end of a job.
 * @param life of the job after the change. @returns at most an entry for each place in the ledger; none for no difference.
 */
export function ledgerOf({ life: before, request }: JobRecord, life: JobLife): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  const add = (place: Place | null, amounts: CostAmounts, sign: 1 | -1): void => {
    if (place === null) return;
    const known = entries.find((entry) => isSamePlace(entry, place));
    if (known !== undefined) known.amounts = addAmounts(known.amounts, amounts, sign);
    else {
      const { tier, tags } = request;
      entries.push({ ...place, tier, tags, amounts: addAmounts(noAmounts, amounts, sign) });
    }
  };
  for (const [index, attempt] of life.attempts.entries()) {
    const old = before.attempts[index];
    if (old === attempt) continue;
    if (old !== undefined) add(placeOf(old, old.finishedAt), amountsOf(old), -1);
    add(placeOf(attempt, attempt.finishedAt), amountsOf(attempt), 1);
  }
  if (before.finishedAt !== null || life.finishedAt !== null) {
    add(placeOfJob(before), oneJob, -1);
    add(placeOfJob(life), oneJob, 1);
  }
  return entries.filter(({ amounts }) => !isNothing(amounts));
}

type Place = Pick<LedgerEntry, 'at' | 'provider' | 'model' | 'workerId' | 'outcome'>;

const oneJob: CostAmounts = { ...noAmounts, jobs: 1 };

/** An attempt counts in the period of its end; null while it runs. */
function placeOf({ provider, model, workerId, outcome }: Attempt, at: number | null): Place | null {
  return outcome === null || at === null ? null : { at, provider, model, workerId, outcome };
}

/** A job counts when it has ended, where its last attempt ran; one that never ran cost nothing and counts nowhere. */
function placeOfJob(life: JobLife): Place | null {
  const attempt = lastAttempt(life);
  return attempt === undefined || life.finishedAt === null ? null : placeOf(attempt, life.finishedAt);
}

function amountsOf({ usage: reported, cost }: Attempt): CostAmounts {
  const usage = reported?.isImplausible === true ? null : reported;
  return {
    jobs: 0,
    attempts: 1,
    nanoDollars: cost.nanoDollars ?? 0,
    unknown: cost.status === 'unknown' || cost.status === 'partial' ? 1 : 0,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cachedInputTokens: usage?.cachedInputTokens ?? 0,
    reasoningTokens: usage?.reasoningTokens ?? 0,
  };
}

function isSamePlace(a: Place, b: Place): boolean {
  return (
    a.at === b.at &&
    a.provider === b.provider &&
    a.model === b.model &&
    a.workerId === b.workerId &&
    a.outcome === b.outcome
  );
}
