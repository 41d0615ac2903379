import type { Committed } from '../../src/coordinator/core/index.ts';
import { type Attempt, type JobRecord, lastAttempt } from '../../src/domain/job.ts';
import { isTerminal, statusOf } from '../../src/domain/states.ts';
import type { Usage } from '../../src/domain/usage.ts';

/** What one job and one step of it must keep to, whatever happened. Each gives one sentence for each breach. */

/** How a run ended on a worker, as the simulated provider knows it. */
export interface Run {
  worker: string;
  output: string;
  usage: Usage;
}

/** Attempts that a job remembers before one that was not run is replaced. */
const attemptsKept = 50;

/** Nano-dollars a token. */
export interface TokenPrice {
  input: number;
  output: number;
}

/** The most that any configuration has allowed. */
export interface Bounds {
  maxReaps: number;
  maxAttempts: number;
  maxRateLimitRetries: number;
  /** Of `alpha`: each may have been in force. */
  prices: readonly TokenPrice[];
}

/** A job as it stands, held against the runs that there were. */
export function faultsOfJob(
  job: JobRecord,
  runs: (lease: number) => readonly Run[],
  bounds: Bounds,
): string[] {
  const { life, state } = job;
  const faults: string[] = [];
  const completed = life.attempts.filter(({ outcome }) => outcome === 'completed');
  const isCompleted = state === 'completed';
  if (completed.length !== (isCompleted ? 1 : 0))
    faults.push(`${completed.length} attempts completed in ${state}`);
  if ((life.result !== null) !== isCompleted)
    faults.push(`is ${state} and its result is ${life.result === null ? 'missing' : 'there'}`);
  const isRunning = statusOf(state) === 'running';
  const open = life.attempts.filter(({ outcome }) => outcome === null);
  if (open.length !== (isRunning ? 1 : 0)) faults.push(`${open.length} attempts are open in ${state}`);
  if (isRunning && lastAttempt(life)?.outcome !== null) faults.push('runs, and its last attempt has ended');
  if (isTerminal(state) !== (life.finishedAt !== null))
    faults.push(`is ${state}, finished at ${life.finishedAt}`);
  if (state === 'failed' && life.error === null) faults.push('failed without an error');
  if (life.reapCount > bounds.maxReaps + 1)
    faults.push(`was reaped ${life.reapCount} times, at most ${bounds.maxReaps + 1} are allowed`);
  for (const [provider, { transient, rateLimited }] of Object.entries(life.tallies)) {
    // Twice as many when all of them were of one worker while another was well.
    if (transient > 2 * bounds.maxAttempts) faults.push(`${transient} attempts at ${provider}`);
    if (rateLimited > bounds.maxRateLimitRetries + 1)
      faults.push(`waited for ${provider} ${rateLimited} times`);
  }
  let lease = 0;
  for (const [index, attempt] of life.attempts.entries()) {
    if (attempt.lease <= lease) faults.push(`lease ${attempt.lease} follows ${lease}`);
    lease = attempt.lease;
    if (attempt.number !== index + 1) faults.push(`attempt ${attempt.number} stands at ${index + 1}`);
    faults.push(...faultsOfAttempt(attempt, job, runs(attempt.lease), bounds.prices));
  }
  if (lease > life.lease) faults.push(`its lease is ${life.lease}, an attempt has ${lease}`);
  return faults;
}

function faultsOfAttempt(
  attempt: Attempt,
  job: JobRecord,
  runs: readonly Run[],
  prices: readonly TokenPrice[],
): string[] {
  const { lease, outcome, usage, cost } = attempt;
  if (outcome === 'completed') {
    const output = job.life.result?.output;
    if (!runs.some((run) => run.output === output))
      return [`lease ${lease} completed with ${output}, which no run gave`];
  }
  if (usage !== null && !runs.some((run) => isSameUsage(run.usage, usage))) {
    return [`lease ${lease} was charged ${JSON.stringify(usage)}, which no run used`];
  }
  if (usage !== null && attempt.provider === 'alpha') {
    const due = prices.map(({ input, output }) => usage.inputTokens * input + usage.outputTokens * output);
    if (!due.some((amount) => amount === cost.nanoDollars))
      return [`lease ${lease} cost ${cost.nanoDollars} nano-dollars, its tokens ${due.join(' or ')}`];
  }
  if (usage !== null && usage.totalTokens > 0 && cost.status === 'none')
    return [`lease ${lease} used tokens and has no cost`];
  if (outcome === null && (usage !== null || cost.status !== 'none'))
    return [`lease ${lease} runs and was charged`];
  return [];
}

function isSameUsage(a: Usage, b: Usage): boolean {
  return a.inputTokens === b.inputTokens && a.outputTokens === b.outputTokens;
}

/** A step from one durable state of a job to the next. @param known the state that was told last; null for none. */
export function faultsOfStep({ before, after, event }: Committed, known: JobRecord | null): string[] {
  const faults: string[] = [];
  if ((before === null) !== (known === null))
    return [`${known === null ? 'was not known' : 'is made a second time'}`];
  if (before === null || known === null)
    return after.version === 1 ? [] : [`begins at version ${after.version}`];
  if (before.version !== known.version)
    faults.push(`goes on from version ${before.version}, it was at ${known.version}`);
  if (after.version !== before.version + 1)
    faults.push(`went from version ${before.version} to ${after.version}`);
  if (JSON.stringify(after.request) !== JSON.stringify(known.request)) faults.push('has another request');
  if (after.createdAt !== known.createdAt || after.ordinal !== known.ordinal)
    faults.push('has another creation');
  if (after.life.enqueuedAt !== known.life.enqueuedAt) faults.push('has lost its place in the queue');
  const from = statusOf(before.state);
  const to = statusOf(after.state);
  if ((from === 'completed' || from === 'cancelled') && to !== from) faults.push(`left ${from} for ${to}`);
  if (from === 'failed' && to !== 'failed' && event?.type !== 'job.retried')
    faults.push(`left failed by ${event?.type}`);
  const isAssigned = event?.type === 'job.assigned';
  if (after.life.lease !== before.life.lease + (isAssigned ? 1 : 0))
    faults.push(`lease ${before.life.lease} became ${after.life.lease}`);
  if (isAssigned && before.state !== 'pending.ready') faults.push(`was handed out while ${before.state}`);
  faults.push(...faultsOfPast(before.life.attempts, after.life.attempts, isAssigned ? 1 : 0));
  return faults;
}

/** Attempts are only added, and an end is only rewritten by its own late result or usage. */
function faultsOfPast(before: readonly Attempt[], after: readonly Attempt[], added: number): string[] {
  // A job that never ran so often has its last attempt replaced.
  const isReplaced = added === 1 && before.length >= attemptsKept && after.length === before.length;
  if (isReplaced) return faultsOfPast(before.slice(0, -1), after.slice(0, -1), 0);
  if (after.length !== before.length + added) return [`${before.length} attempts became ${after.length}`];
  const faults: string[] = [];
  for (const [index, old] of before.entries()) {
    const now = after[index];
    if (now === undefined || old.outcome === null) continue;
    const isLate = now.outcome === 'completed' && (old.outcome === 'reaped' || old.outcome === 'lost');
    if (now.outcome !== old.outcome && !isLate)
      faults.push(`attempt ${old.number} was ${old.outcome} and is ${now.outcome}`);
    if (old.usage !== null && JSON.stringify(now.usage) !== JSON.stringify(old.usage))
      faults.push(`attempt ${old.number} was charged twice`);
    if (now.workerId !== old.workerId || now.lease !== old.lease || now.provider !== old.provider)
      faults.push(`attempt ${old.number} is another one`);
  }
  return faults;
}
