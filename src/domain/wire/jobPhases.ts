import type { WireAttempt, WireJob } from './job.ts';

/** A phase of a job's life: it waits, or an attempt runs. Times are epoch ms. */
export interface Phase {
  kind: 'wait' | 'attempt';
  from: number;
  /** `now` while it lasts. */
  to: number;
  /** Whether it still lasts. */
  isOpen: boolean;
  /** Of an attempt. */
  attempt: WireAttempt | null;
}

/**
 * A job's life in consecutive phases, from its dispatch to its end or to now. An attempt whose worker was lost may
 * overlap the next one; it is shown as it was.
 */
export function phasesOf(
  job: Pick<WireJob, 'created_at' | 'finished_at' | 'status' | 'attempts'>,
  now: number,
): Phase[] {
  const end = job.finished_at === null ? now : Date.parse(job.finished_at);
  const phases: Phase[] = [];
  let reached = Date.parse(job.created_at);
  for (const attempt of job.attempts) {
    const from = Date.parse(attempt.started_at);
    const isOpen = attempt.finished_at === null;
    const to = attempt.finished_at === null ? end : Date.parse(attempt.finished_at);
    if (from > reached) phases.push({ kind: 'wait', from: reached, to: from, isOpen: false, attempt: null });
    phases.push({
      kind: 'attempt',
      from,
      to: Math.max(from, to),
      isOpen: isOpen && job.status === 'running',
      attempt,
    });
    reached = Math.max(reached, to);
  }
  // Also before an end without an attempt: it was cancelled while it waited.
  if (end > reached)
    phases.push({ kind: 'wait', from: reached, to: end, isOpen: job.status === 'pending', attempt: null });
  return phases;
}

/**
 * How long it has waited in all, ms: everything except attempts. That includes requested delays, and the time that a
 * job was failed before a manual retry, which only its history distinguishes.
 */
export function waitedMs(phases: readonly Phase[]): number {
  return phases.filter(({ kind }) => kind === 'wait').reduce((sum, { from, to }) => sum + (to - from), 0);
}
