import type { Failure, ProviderTally } from './failure.ts';
import type { Cost } from './money.ts';
import type { JobState } from './states.ts';
import type { Usage } from './usage.ts';

/** One message of a chat, passed to the provider as it is. */
export interface Message {
  role: string;
  content: unknown;
}

/**
 * What the client asked for. Written once, at dispatch, and never changed.
 * Exactly one of `prompt` and `messages` is set.
 */
export interface JobRequest {
  prompt: string | null;
  input: string | null;
  messages: Message[] | null;
  /** null when routing decides. */
  provider: string | null;
  model: string | null;
  priority: string;
  tier: string | null;
  tags: string[];
  params: Record<string, unknown>;
  metadata: Record<string, string>;
  /** null: `jobs.timeout_seconds`. 0: none. */
  timeoutSeconds: number | null;
  /** Epoch ms before which the job must not run. */
  notBefore: number | null;
}

/** The key that a job was made with, as it was called then. */
export interface JobCreator {
  keyId: string;
  name: string | null;
}

/** Where a job is to run: what narrows the workers that may take it. Jobs with equal targets share a lane. */
export interface Target {
  provider: string;
  model: string | null;
  /** A worker's name that must run it. */
  worker: string | null;
  /** A tag that the worker must carry. */
  workerTag: string | null;
}

/** How an attempt ended; null while it runs. */
export type AttemptOutcome =
  | 'completed'
  | 'failed'
  | 'rate_limited'
  | 'cancelled'
  | 'timed_out'
  | 'reaped'
  | 'lost'
  | 'released';

/** One execution of a job on one worker, known by its lease. */
export interface Attempt {
  /** 1, 2, 3 … within the job. */
  number: number;
  /** Only rises within a job; fences every frame of the attempt. */
  lease: number;
  workerId: string;
  provider: string;
  model: string | null;
  startedAt: number;
  finishedAt: number | null;
  outcome: AttemptOutcome | null;
  error: Failure | null;
  usage: Usage | null;
  cost: Cost;
}

/** One decision of the routing, with its reason. */
export interface RouteStep {
  provider: string;
  model: string | null;
  workerId: string | null;
  outcome: 'chosen' | 'skipped' | 'failed';
  why: string;
  at: number;
}

export interface JobResult {
  output: string;
  /** Left out when the model called no tool. */
  toolCalls?: ToolCall[];
  finishReason: string;
  provider: string;
  model: string | null;
  workerId: string;
  usage: Usage;
  /** The provider's own form of it, as the worker told it; left out when it told none. */
  rawUsage?: unknown;
  latencyMs: number;
  firstTokenMs: number | null;
}

/** How the one of several candidates is picked when a job is handed out. */
export type StrategyName = 'direct' | 'fallback' | 'round_robin' | 'least_busy' | 'cheapest' | 'fastest';

/**
 * A change of state that the attempts do not tell: a delay and its end, a worker lost and found, a lease taken back, a
 * retry. What every job goes through is not written twice; `historyOf` puts both together.
 */
export interface Turn {
  at: number;
  /** The last lease given at that moment; 0 before the first. */
  lease: number;
  event:
    | 'job.due'
    | 'job.attemptFailed'
    | 'job.workerLost'
    | 'job.workerReturned'
    | 'job.reaped'
    | 'job.retried';
  to: JobState;
}

/** Turns that a job remembers; the oldest go first. */
export const turnsMax = 100;

/** The context of the job machine: everything about a job that changes. Plain JSON. */
export interface JobLife {
  strategy: StrategyName;
  /** The first candidate to run the job. */
  target: Target;
  /** The other candidates, in order; empty when the provider was named. */
  chain: Target[];
  priority: string;
  /** Epoch ms; the place in the queue counts from here. A requeued job keeps it. */
  enqueuedAt: number;
  /** Epoch ms until which a delayed job waits; null when it does not. */
  delayedUntil: number | null;
  /** The last lease given; 0 before the first. */
  lease: number;
  attempts: Attempt[];
  route: RouteStep[];
  /** By provider, since the last POST retry. */
  tallies: Record<string, ProviderTally>;
  /** POST retries. */
  retryCount: number;
  reapCount: number;
  /** Times that workers gave it back, since the last POST retry. Absent before the first. */
  releaseCount?: number;
  /** Begin of the attempt that runs or that ended the job; null while pending. */
  startedAt: number | null;
  finishedAt: number | null;
  updatedAt: number;
  /** Oldest first. Left out while there are none, as in most jobs. */
  turns?: Turn[];
  result: JobResult | null;
  error: Failure | null;
}

/** A job as the store keeps it: the immutable request and the persisted snapshot of its machine. */
export interface JobRecord {
  id: string;
  /** Order of creation, given by the store: 1, 2, 3 … */
  ordinal: number;
  /** Rises by one with every committed change. */
  version: number;
  createdAt: number;
  /** null for a job that was made before this was recorded. */
  createdBy: JobCreator | null;
  request: JobRequest;
  /** Version of the job machine that made `state` and `life`. */
  machineVersion: number;
  state: JobState;
  life: JobLife;
}

/** A call of a tool that the model wants, in OpenAI's shape whatever the provider's is. */
export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON as text. */
  function: { name: string; arguments: string };
}

/** A live lease as frames name it. */
export interface LeaseRef {
  jobId: string;
  lease: number;
}

/** The attempt that holds or last held the job, if any. */
export function lastAttempt(life: JobLife): Attempt | undefined {
  return life.attempts[life.attempts.length - 1];
}

const laneKeys = new WeakMap<Target, string>();

/**
 * Equal strings, same target. Every step of a job asks for it; for targets that cannot change, which are those that the
 * stored jobs share, it is remembered: 30 ns instead of 400.
 */
export function laneKey(target: Target): string {
  const known = laneKeys.get(target);
  if (known !== undefined) return known;
  const key = JSON.stringify([target.provider, target.model, target.worker, target.workerTag]);
  if (Object.isFrozen(target)) laneKeys.set(target, key);
  return key;
}

/** Who may run a job, in order. */
export function candidatesOf({ target, chain }: Pick<JobLife, 'target' | 'chain'>): [Target, ...Target[]] {
  return [target, ...chain];
}

/** The lane a job waits in: equal strings, same candidates and same way to pick one of them. */
export function laneOf(life: Pick<JobLife, 'strategy' | 'target' | 'chain'>): string {
  if (life.chain.length === 0) return laneKey(life.target);
  return `${life.strategy} ${candidatesOf(life).map(laneKey).join(' ')}`;
}
