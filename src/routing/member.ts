import type { Target } from '../domain/job.ts';

/**
 * One provider that may run a job, as the fleet is now.
 * - `ready`    it could run the job at once.
 * - `busy`     its workers' slots or its max_concurrent are taken: a short wait.
 * - `skipped`  no connected worker fits, all are paused, or it is limited or open: others go first.
 */
export interface Member {
  target: Target;
  /** The model that would run: the job's, else the provider's default. */
  model: string | null;
  state: 'ready' | 'busy' | 'skipped';
  /** Why it is in that state, in a few words. */
  why: string;
  /** Epoch ms when a skipped one may be back; null when nobody knows. */
  until: number | null;
  /** Share of its slots that is taken, 0..1. */
  load: number;
  /** Dollars a million input and output tokens together; null when nobody knows. */
  price: number | null;
  /** Mean time of its recent attempts, ms; null when there was none. */
  latencyMs: number | null;
}

/**
 * Picks the member that runs a job, or that the job waits for when that is busy. Pure: same members, same turn, same
 * answer. Never one that is skipped; null when all are, and the job waits for the first that comes back.
 * @param turn counts the assignments of this chain, for strategies that take turns.
 */
export type Strategy = (members: readonly Member[], turn: number) => Member | null;

/** The first of the smallest; null for none. */
export function least(members: readonly Member[], measure: (member: Member) => number): Member | null {
  let best: Member | null = null;
  for (const member of members) if (best === null || measure(member) < measure(best)) best = member;
  return best;
}

/** Those that could run the job at once, or, when there is none, those that are only busy. */
export function takers(members: readonly Member[]): readonly Member[] {
  const ready = members.filter(({ state }) => state === 'ready');
  return ready.length > 0 ? ready : members.filter(({ state }) => state === 'busy');
}
