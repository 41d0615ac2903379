import { isOfRevokedKey } from './failure.ts';
import { type Attempt, type AttemptOutcome, type JobRecord, type Turn, turnsMax } from './job.ts';
import type { JobState } from './states.ts';

/** One change of a job's state. */
export interface HistoryEntry {
  /** Epoch ms. */
  at: number;
  /** The machine's own event, `job.assigned`; null: the job was dispatched. */
  event: string | null;
  /** null: the job was new. */
  from: JobState | null;
  to: JobState;
  /** Number of the last attempt at that moment; null before the first. */
  attempt: number | null;
}

/** The states of a job so far, oldest first. The last entry leads to its current state. */
export interface JobHistory {
  entries: HistoryEntry[];
  /** Whether some are missing: there were more than the job stores. */
  isTruncated: boolean;
}

/** Entries that are returned; of more the oldest are dropped. */
const entriesMax = 1_000;

/**
 * The history of a job, built from what is stored: its creation, its attempts, and the turns that these do not record.
 * It is computed on request, so dispatching and running a job cost nothing for it.
 */
export function historyOf(job: JobRecord): JobHistory {
  const { createdAt, request, state, life } = job;
  const turns = Map.groupBy(life.turns ?? [], ({ lease }) => lease);
  const isDelayed = request.notBefore !== null && request.notBefore > createdAt;
  const trail = new Trail(createdAt, isDelayed ? 'pending.delayed' : 'pending.ready');
  for (const turn of turns.get(0) ?? []) trail.turn(turn);
  for (const attempt of life.attempts) {
    const isLast = attempt === life.attempts.at(-1);
    trail.begin(attempt);
    for (const turn of turns.get(attempt.lease) ?? []) {
      // A retry or the end of a delay follows the attempt's end, which perhaps only the attempt records. Except a retry
      // of a stuck job: that itself ends the attempt, which counts as lost.
      if (turn.event === 'job.retried' && attempt.outcome !== 'lost') trail.end(attempt, 'failed');
      if (turn.event === 'job.due') trail.end(attempt, 'pending.delayed');
      trail.turn(turn);
    }
    trail.end(attempt, isLast && state === 'failed' ? 'failed' : 'pending.ready');
    if (attempt.outcome === 'completed') trail.move(attempt.finishedAt, 'job.completed', 'completed');
  }
  if (state === 'cancelled') trail.move(life.finishedAt, 'job.cancelled', 'cancelled');
  const { entries } = trail;
  return {
    entries: entries.slice(-entriesMax),
    isTruncated: (life.turns ?? []).length >= turnsMax || entries.length > entriesMax,
  };
}

/** How an attempt ends by itself: the event, and the state unless that depends on what followed. */
const ends: Record<AttemptOutcome, { event: string; to: JobState | null } | null> = {
  // A late result completes a job that is pending again, so the lease was taken back before.
  completed: null,
  failed: { event: 'job.attemptFailed', to: null },
  rate_limited: { event: 'job.attemptFailed', to: null },
  cancelled: { event: 'job.cancelled', to: 'cancelled' },
  timed_out: { event: 'job.timedOut', to: 'failed' },
  reaped: { event: 'job.reaped', to: null },
  lost: { event: 'job.reaped', to: null },
  released: { event: 'job.released', to: null },
};

const keyRevoked = { event: 'job.keyRevoked', to: 'failed' } as const;

class Trail {
  readonly entries: HistoryEntry[] = [];
  #state: JobState | null = null;
  #attempt: number | null = null;

  constructor(at: number, state: JobState) {
    this.move(at, null, state);
  }

  begin({ number, startedAt }: Attempt): void {
    this.#attempt = number;
    this.move(startedAt, 'job.assigned', 'running.active');
  }

  turn({ at, event, to }: Turn): void {
    this.move(at, event, to);
  }

  /** @param next where an attempt led whose end does not say it. Does nothing when its end is already recorded. */
  end({ outcome, error, finishedAt }: Attempt, next: JobState): void {
    const end = outcome === null ? null : isOfRevokedKey(error) ? keyRevoked : ends[outcome];
    if (end !== null && this.#state?.startsWith('running.')) this.move(finishedAt, end.event, end.to ?? next);
  }

  move(at: number | null, event: string | null, to: JobState): void {
    if (to === this.#state || at === null) return;
    this.entries.push({ at, event, from: this.#state, to, attempt: this.#attempt });
    this.#state = to;
  }
}
