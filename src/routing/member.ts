import type { Target } from '../domain/job.ts';

/**
 * One provider that may run a job, with the current state of the fleet.
 * - `ready`    it could run the job at once.
 * - `busy`     its workers' slots or its max_concurrent are in use: a short wait.
 * - `skipped`  no connected worker fits, all are paused, or it is limited or open: others are preferred.
 */
export interface Member {
  target: Target;
  /** The model to run: the job's, else the provider's default. */
  model: string | null;
  state: 'ready' | 'busy' | 'skipped';
  /** The reason for its state, in a few words. */
  why: string;
  /** Epoch ms when a skipped one may be available again; null when unknown. */
  until: number | null;
  /** Share of its slots in use, 0..1. */
  load: number;
  /** Dollars for a million input and a million output tokens together; null when unknown. */
  price: number | null;
  /** Mean duration of its recent attempts, ms; null when there was none. */
  latencyMs: number | null;
}

/**
 * Picks the member that runs a job, or that the job waits for when that is busy. Pure: same members, same turn, same
 * answer. Never a skipped one; null when all are, and the job waits for the first available one.
 * @param turn counts the assignments of this chain, for strategies that rotate.
 */
export type Strategy = (members: readonly Member[], turn: number) => Member | null;

/** The first of the smallest; null for none. */
export function least(members: readonly Member[], measure: (member: Member) => number): Member | null {
  let best: Member | null = null;
  for (const member of members) if (best === null || measure(member) < measure(best)) best = member;
  return best;
}

/** The members that could run the job at once, or, if there are none, the busy ones. */
export function runnable(members: readonly Member[]): readonly Member[] {
  const ready = members.filter(({ state }) => state === 'ready');
  return ready.length > 0 ? ready : members.filter(({ state }) => state === 'busy');
}
