/* What a change writes of a job's life: the members that have another value, and of a list that grows what was added. Most
   changes touch a few members, so for a job that is assigned and completes, half as much is serialised, written and copied
   as when each change has the whole life. */

import type { JobLife } from '../../domain/job.ts';

/** How a life differs from the one before it. What is not named is as it was. */
export interface LifeDifference {
  /** Members with another value. */
  values: Partial<JobLife>;
  /** Lists that begin as they did. */
  ends: Partial<Record<GrowingList, ListEnd>>;
}

type GrowingList = 'attempts' | 'route' | 'turns';

interface ListEnd {
  /** How many members stay. */
  kept: number;
  /** What follows them. */
  added: unknown[];
}

/**
 * How `after` differs from `before`. Members are compared by identity, which is cheap and never wrong: a machine keeps what
 * it does not change.
 * @returns null when a member is gone, which a difference cannot say.
 */
export function lifeDifference(before: JobLife, after: JobLife): LifeDifference | null {
  for (const name in before)
    if (before[name as keyof JobLife] !== undefined && after[name as keyof JobLife] === undefined)
      return null;
  const values: Members = {};
  const ends: LifeDifference['ends'] = {};
  for (const name in after) {
    const value = after[name as keyof JobLife];
    if (value === before[name as keyof JobLife]) continue;
    const end = isGrowing(name) ? endOf(before[name], after[name]) : null;
    if (end !== null && isGrowing(name)) ends[name] = end;
    else values[name] = value;
  }
  return { values, ends };
}

/** The life that differs in this way from `before`, which is not changed. */
export function differentLife(before: JobLife, { values, ends }: LifeDifference): JobLife {
  const lists: Members = {};
  for (const name in ends) {
    if (!isGrowing(name)) continue;
    const { kept = 0, added = [] } = ends[name] ?? {};
    lists[name] = [...(before[name] ?? []).slice(0, kept), ...added];
  }
  return { ...before, ...values, ...lists };
}

type Members = Record<string, unknown>;

function isGrowing(name: string): name is GrowingList {
  return name === 'attempts' || name === 'route' || name === 'turns';
}

/** The end in which a list differs from what it was; null when nothing of that stays. */
function endOf(old: readonly unknown[] = [], list: readonly unknown[] = []): ListEnd | null {
  let kept = 0;
  while (kept < old.length && kept < list.length && old[kept] === list[kept]) kept += 1;
  return kept === 0 ? null : { kept, added: list.slice(kept) };
}
