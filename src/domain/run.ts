/** A run: jobs that belong together under a name, with limits of their own. */

import { isFinal, type RunBatch } from './batch.ts';
import type { ErrorClass } from './failure.ts';
import type { JobCreator } from './job.ts';
import type { NanoDollars } from './money.ts';
import type { RunStatus } from './states.ts';

/** Characters of a name at most. */
export const runNameMax = 100;
/** Characters of the id of a line at most. */
export const lineIdMax = 255;
/** Groups of failures that a run tells apart; the rest is counted in the last one. */
const failureGroupsMax = 20;
/** Runs that are kept; beyond it the oldest that have ended are forgotten, and their jobs stay. */
export const runsMax = 1_000;

/** Letters that need no quotes in shells, paths and addresses. */
export const runNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Why a run pauses: one of its limits, or somebody did it. */
export const pauseReasons = ['max_cost', 'max_failures', 'deadline', 'operator'] as const;
export type PauseReason = (typeof pauseReasons)[number];

/** What a run may use; null: no limit. */
export interface RunLimits {
  maxCost: NanoDollars | null;
  /** Failed jobs. */
  maxFailures: number | null;
  /** Epoch ms. */
  deadline: number | null;
}

export interface RunPause {
  reason: PauseReason;
  /** One sentence for people. */
  detail: string;
  /** Epoch ms. */
  at: number;
}

/** The context of the run machine: what people decide about a run, and its limits. Plain JSON. */
export interface RunLife {
  limits: RunLimits;
  /** Set in `paused` only. */
  pause: RunPause | null;
  /** Epoch ms; set in `completed` and `cancelled`. */
  finishedAt: number | null;
}

/** How many jobs of a run are in each state, and what they used; the store adds it up from the changes of jobs. */
export interface RunTotals {
  pending: number;
  running: number;
  completed: number;
  failed: number;
  cancelled: number;
  /** Known costs of attempts. */
  nanoDollars: NanoDollars;
  /** Attempts whose cost is unknown. */
  unknown: number;
  /** The estimates of those. */
  assumed: NanoDollars;
  /** The estimates of attempts that run. */
  reserved: NanoDollars;
  inputTokens: number;
  outputTokens: number;
  /** In order of their first occurrence; at most `failureGroupsMax`. */
  failures: FailureGroup[];
}

/** Failed jobs with one cause. */
export interface FailureGroup {
  class: ErrorClass;
  code: string;
  /** Of the first of them. */
  message: string;
  /** The first of them. */
  jobId: string;
  count: number;
}

/** What the answers of a run must be, and how often one that is not is asked for again. */
export interface OutputCheck {
  /** JSON Schema, draft 2020-12. */
  schema: boolean | Record<string, unknown>;
  retries: number;
}

/** Retries of a check that names none. */
export const outputRetriesDefault = 2;
export const outputRetriesMax = 10;

/** A stored run. */
export interface RunRecord {
  id: string;
  /** Unique. */
  name: string;
  /** Epoch ms. */
  createdAt: number;
  createdBy: JobCreator | null;
  /** Fields of jobs that do not set them, as the client sent them. */
  defaults: Record<string, unknown>;
  /** Absent when every answer will do. */
  check?: OutputCheck;
  /** Absent unless its lines come from a file. */
  batch?: RunBatch;
  state: RunStatus;
  life: RunLife;
  totals: RunTotals;
}

/** The difference that a change of a job makes to the totals of its run; members that are absent do not change. */
export type RunDelta = Partial<Omit<RunTotals, 'failures'>> & {
  /** Groups that win (1) or lose (-1) a job. */
  failures?: FailureGroup[];
};

export const noTotals: RunTotals = Object.freeze({
  pending: 0,
  running: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  nanoDollars: 0,
  unknown: 0,
  assumed: 0,
  reserved: 0,
  inputTokens: 0,
  outputTokens: 0,
  failures: [],
});

/** The totals after a change of a job. */
export function addToTotals(totals: RunTotals, { failures = [], ...numbers }: RunDelta): RunTotals {
  const next: RunTotals = { ...totals };
  for (const [name, change] of Object.entries(numbers)) {
    next[name as keyof typeof numbers] += change;
  }
  for (const group of failures) next.failures = addFailure(next.failures, group);
  return next;
}

/** A failure that fits none of the groups is counted in the last one, and so is its end. */
function addFailure(groups: readonly FailureGroup[], added: FailureGroup): FailureGroup[] {
  const isSame = (group: FailureGroup): boolean => group.class === added.class && group.code === added.code;
  const place = groups.findIndex(isSame);
  if (place === -1 && added.count > 0 && groups.length < failureGroupsMax) return [...groups, added];
  const target = place === -1 ? groups.length - 1 : place;
  return groups
    .map((group, index) => (index === target ? { ...group, count: group.count + added.count } : group))
    .filter(({ count }) => count > 0);
}

/** How many jobs a run has. */
export function jobsOf({ pending, running, completed, failed, cancelled }: RunTotals): number {
  return pending + running + completed + failed + cancelled;
}

/** Whether every job of it has ended. */
export function hasEnded(totals: RunTotals): boolean {
  return totals.pending === 0 && totals.running === 0 && jobsOf(totals) > 0;
}

/** Lines of a batch that are not jobs yet, and may become some. */
export function unqueuedLines({ totals, batch }: RunRecord): number {
  if (batch === undefined || isFinal(batch.state)) return 0;
  return Math.max(0, (batch.life.lines ?? 0) - jobsOf(totals));
}

/** Whether a run has come to its end, unless more jobs are sent: one that is a batch has no more lines either. */
export function isOver(run: RunRecord): boolean {
  const { totals, batch } = run;
  if (batch === undefined) return hasEnded(totals);
  const hasOpen = totals.pending + totals.running > 0;
  return !hasOpen && (isFinal(batch.state) || (jobsOf(totals) > 0 && unqueuedLines(run) === 0));
}

/** What counts against a budget: what was spent, with estimates for what is not known yet. */
export function spentOf({ nanoDollars, assumed, reserved }: RunTotals): NanoDollars {
  return nanoDollars + assumed + reserved;
}
