import type { Failure, ProviderTally } from './failure.ts';
import type { Cost, NanoDollars } from './money.ts';
import type { JobState } from './states.ts';
import type { Usage } from './usage.ts';
import type { NamedWebhook } from './webhook.ts';

/** One message of a chat, passed to the provider unchanged. */
export interface Message {
  role: string;
  content: unknown;
}

/**
 * The client's request. Written once, at dispatch, and never changed. Exactly one of `prompt` and `messages` is set.
 */
export interface JobRequest extends NamedWebhook {
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
  /** Absent for a job of the native API. */
  door?: DoorRequest;
}

/** How a job was asked for where not by the native API: what its door needs to answer again. No provider sees it. */
export interface DoorRequest {
  /** Which form of answer: `chat`, `response`. */
  form: string;
  /** Plain JSON, in the words of the door. */
  fields: Record<string, unknown>;
}

/** The key that created a job, with its name at that time. */
export interface JobCreator {
  keyId: string;
  name: string | null;
}

/** The place of a job in its run. */
export interface RunLine {
  runId: string;
  /** The run's name, for people; it never changes. */
  name: string;
  /** Unique in the run. */
  lineId: string;
}

/** Where a job may run: restricts the workers that may take it. Jobs with equal targets share a lane. */
export interface Target {
  provider: string;
  model: string | null;
  /** Name of the only worker that may run it. */
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

/** One execution of a job on one worker, identified by its lease. */
export interface Attempt {
  /** 1, 2, 3 … within the job. */
  number: number;
  /** Rises within a job; fences every frame of the attempt. */
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
  /** What it was expected to cost at most, for the budget of its run. Absent outside of runs and where that is unknown. */
  estimate?: NanoDollars;
}

/** One routing decision, with its reason. */
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
  /** Absent when the model called no tool. */
  toolCalls?: ToolCall[];
  finishReason: string;
  provider: string;
  model: string | null;
  workerId: string;
  usage: Usage;
  /** The provider's own form of it, as reported by the worker; absent when not reported. */
  rawUsage?: unknown;
  latencyMs: number;
  firstTokenMs: number | null;
}

/** How one of several candidates is chosen when a job is assigned. */
export type StrategyName = 'direct' | 'fallback' | 'round_robin' | 'least_busy' | 'cheapest' | 'fastest';

/** Events that lead to states which the attempts do not show. A failed attempt is one of them when a delay follows. */
export const turnEvents = [
  'job.due',
  'job.attemptFailed',
  'job.workerLost',
  'job.workerReturned',
  'job.reaped',
  'job.retried',
] as const;

/**
 * A change of state that the attempts do not record: a delay and its end, a worker lost and found, a lease taken back,
 * a retry. What every job passes through is not stored twice; `historyOf` combines both.
 */
export interface Turn {
  at: number;
  /** The last lease given by then; 0 before the first. */
  lease: number;
  event: (typeof turnEvents)[number];
  to: JobState;
}

/** Turns stored for a job; the oldest are dropped first. */
export const turnsMax = 100;

/** The context of the job machine: everything about a job that changes. Plain JSON. */
export interface JobLife {
  strategy: StrategyName;
  /** The first candidate to run the job. */
  target: Target;
  /** The other candidates, in order; empty when the provider was named. */
  chain: Target[];
  priority: string;
  /** Epoch ms; its place in the queue. A requeued job keeps it. */
  enqueuedAt: number;
  /** Epoch ms until which a delayed job waits; null when it is not delayed. */
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
  /** How often workers gave it back since the last POST retry. Absent before the first time. */
  releaseCount?: number;
  /** Start of the attempt that runs or that ended the job; null while pending. */
  startedAt: number | null;
  finishedAt: number | null;
  updatedAt: number;
  /** Oldest first. Absent while there are none, as in most jobs. */
  turns?: Turn[];
  result: JobResult | null;
  error: Failure | null;
}

/** A stored job: the immutable request and the persisted snapshot of its machine. */
export interface JobRecord {
  id: string;
  /** Order of creation, assigned by the store: 1, 2, 3 … */
  ordinal: number;
  /** Rises by one with every committed change. */
  version: number;
  createdAt: number;
  /** null for a job created before this was recorded. */
  createdBy: JobCreator | null;
  /** Absent outside of runs. */
  run?: RunLine;
  request: JobRequest;
  state: JobState;
  life: JobLife;
}

/** What the indexes need of a pending job. A `JobRecord` has it too. */
export interface JobHead extends Pick<JobRecord, 'ordinal' | 'state' | 'createdBy'> {
  run?: Pick<RunLine, 'runId'> | undefined;
  request: Pick<JobRequest, 'provider'>;
  life: Pick<JobLife, 'strategy' | 'target' | 'chain' | 'priority' | 'enqueuedAt'>;
}

/** A tool call by the model, in OpenAI's shape whatever the provider's is. */
export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON as text. */
  function: { name: string; arguments: string };
}

/** A live lease as named in frames. */
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
 * Equal strings, same target. Every step of a job needs it; for immutable targets, which are those that stored jobs
 * share, it is cached: 30 ns instead of 400.
 */
export function laneKey(target: Target): string {
  const known = laneKeys.get(target);
  if (known !== undefined) return known;
  const key = JSON.stringify([target.provider, target.model, target.worker, target.workerTag]);
  if (Object.isFrozen(target)) laneKeys.set(target, key);
  return key;
}

/** The targets that may run a job, in order. */
export function candidatesOf({ target, chain }: Pick<JobLife, 'target' | 'chain'>): [Target, ...Target[]] {
  return [target, ...chain];
}

/**
 * The lane a job waits in: equal strings, same candidates, same strategy, same run. A run has lanes of its own, so that one
 * that is paused is passed over in one step, however many of its jobs wait.
 */
export function laneOf({ life, run }: LaneMember): string {
  const key =
    life.chain.length === 0
      ? laneKey(life.target)
      : `${life.strategy} ${candidatesOf(life).map(laneKey).join(' ')}`;
  return run === undefined ? key : `${run.runId} ${key}`;
}

/** What decides on the lane of a job. */
export interface LaneMember {
  life: Pick<JobLife, 'strategy' | 'target' | 'chain'>;
  run?: Pick<RunLine, 'runId'> | undefined;
}

/** A request of which some is decided only when it becomes a job. */
export interface OpenRequest {
  /** JSON: what the client asked for. An idempotency key stands for this. */
  asked: unknown;
  /** The whole request; called at most once, and not for a key that was used before. */
  decide(): Promise<JobRequest>;
}

/** What a job begins from. */
export interface JobInput {
  strategy: StrategyName;
  target: Target;
  chain: Target[];
  route: RouteStep[];
  priority: string;
  /** Epoch ms. */
  createdAt: number;
  /** Epoch ms, or null. */
  notBefore: number | null;
}

/** What a job remembers when it is new. */
export function beginLife(input: JobInput): JobLife {
  const { strategy, target, chain, route, priority, createdAt, notBefore } = input;
  return {
    strategy,
    target,
    chain,
    priority,
    enqueuedAt: Math.max(createdAt, notBefore ?? 0),
    delayedUntil: notBefore !== null && notBefore > createdAt ? notBefore : null,
    lease: 0,
    attempts: [],
    route,
    tallies: {},
    retryCount: 0,
    reapCount: 0,
    startedAt: null,
    finishedAt: null,
    updatedAt: createdAt,
    result: null,
    error: null,
  };
}
