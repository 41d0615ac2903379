import type { ResumeRunBody, WireLiveRun } from '../../../domain/wire/run.ts';

/** The limits of a run as its reader types them; empty is none. */
export interface LimitTexts {
  maxCost: string;
  maxFailures: string;
  /** As a field of the type `datetime-local` has it, in the reader's time zone. */
  deadline: string;
}

type Limits = Pick<WireLiveRun, 'max_cost_usd' | 'max_failures' | 'deadline'>;

export function textsOf({ max_cost_usd: cost, max_failures: failures, deadline }: Limits): LimitTexts {
  return {
    maxCost: cost === null ? '' : String(cost),
    maxFailures: failures === null ? '' : String(failures),
    deadline: deadline === null ? '' : localTime(Date.parse(deadline)),
  };
}

/** The limits that differ from those of the run, for the API; or what is wrong with one. */
export function changedLimits(texts: LimitTexts, run: Limits): ResumeRunBody | string {
  const before = textsOf(run);
  const changed: ResumeRunBody = {};
  const cost = texts.maxCost.trim().replace(/^\$\s*/, '');
  if (cost !== before.maxCost) {
    const dollars = cost === '' ? null : Number(cost);
    if (dollars !== null && !(dollars >= 0 && Number.isFinite(dollars)))
      return 'The budget is a number of dollars, such as 2.50.';
    changed.max_cost_usd = dollars;
  }
  const failures = texts.maxFailures.trim();
  if (failures !== before.maxFailures) {
    const most = failures === '' ? null : Number(failures);
    if (most !== null && !(Number.isInteger(most) && most >= 1))
      return 'The failures are a whole number from 1 on.';
    changed.max_failures = most;
  }
  if (texts.deadline !== before.deadline) {
    const at = texts.deadline === '' ? null : Date.parse(texts.deadline);
    if (Number.isNaN(at)) return 'The deadline is a date with a time.';
    changed.deadline = at === null ? null : new Date(at).toISOString();
  }
  return changed;
}

function localTime(at: number): string {
  const offsetMs = new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - offsetMs).toISOString().slice(0, 16);
}
