import type { Attempt, JobLife, JobRecord, RunLine } from '../../domain/job.ts';
import type { FailureGroup, RunDelta } from '../../domain/run.ts';
import { type JobState, statusOf } from '../../domain/states.ts';
import type { RunDifference } from '../../store/store.ts';

/** Characters of a message that the totals of a run quote. */
const messageMax = 300;

type Amount = Exclude<keyof RunDelta, 'failures'>;

/** What a new job adds to its run. */
export function newJobTotals({ runId }: RunLine): RunDifference {
  return { runId, delta: { pending: 1 } };
}

/**
 * What a change adds to the totals of the job's run: the difference between what the job contributes after it and before, so
 * that the totals are the sum of the jobs as they stand, whatever happened to them. An unknown cost counts as the estimate
 * that its attempt began with.
 * @returns undefined outside of runs, and when nothing differs.
 */
export function runTotalsOf(
  { id, run, state: stateBefore, life: before }: JobRecord,
  state: JobState,
  life: JobLife,
): RunDifference | undefined {
  if (run === undefined) return undefined;
  const delta: RunDelta = {};
  const add = (name: Amount, amount: number): void => {
    if (amount !== 0) delta[name] = (delta[name] ?? 0) + amount;
  };
  add(statusOf(stateBefore), -1);
  add(statusOf(state), 1);
  for (const [index, attempt] of life.attempts.entries()) {
    const old = before.attempts[index];
    if (old === attempt) continue;
    if (old !== undefined) addAttempt(add, old, -1);
    addAttempt(add, attempt, 1);
  }
  const failures = [...failureOf(id, stateBefore, before, -1), ...failureOf(id, state, life, 1)];
  if (failures.length > 0) delta.failures = failures;
  for (const name of Object.keys(delta) as (keyof RunDelta)[]) if (delta[name] === 0) delete delta[name];
  return Object.keys(delta).length === 0 ? undefined : { runId: run.runId, delta };
}

function addAttempt(
  add: (name: Amount, amount: number) => void,
  { outcome, usage: reported, cost, estimate = 0 }: Attempt,
  sign: 1 | -1,
): void {
  if (outcome === null) {
    add('reserved', sign * estimate);
    return;
  }
  add('nanoDollars', sign * (cost.nanoDollars ?? 0));
  if (cost.status === 'unknown' || cost.status === 'partial') {
    add('unknown', sign);
    add('assumed', sign * estimate);
  }
  if (reported === null || reported.isImplausible === true) return;
  add('inputTokens', sign * reported.inputTokens);
  add('outputTokens', sign * reported.outputTokens);
}

function failureOf(jobId: string, state: JobState, { error }: JobLife, count: 1 | -1): FailureGroup[] {
  if (state !== 'failed' || error === null) return [];
  const { class: errorClass, code } = error;
  return [{ class: errorClass, code, message: error.message.slice(0, messageMax), jobId, count }];
}
