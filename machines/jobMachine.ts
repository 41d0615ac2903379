import { assign, setup } from 'xstate';
import {
  type Failure,
  jobTimeout,
  mayWaitForLimit,
  type ProviderTally,
  releasedTooOften,
  type Verdict,
  verdictOn,
  workerLost,
} from '../src/domain/failure.ts';
import {
  type Attempt,
  type AttemptOutcome,
  candidatesOf,
  type JobLife,
  laneKey,
  lastAttempt,
  type RouteStep,
  type StrategyName,
  type Target,
  type Turn,
  turnsMax,
} from '../src/domain/job.ts';
import { type Cost, noCost } from '../src/domain/money.ts';
import type { JobState } from '../src/domain/states.ts';
import type { Usage } from '../src/domain/usage.ts';
import type { JobEvent } from './events.ts';

/** Raised when a state is renamed or the context changes its shape; older snapshots then need an upcaster. */
export const jobMachineVersion = 1;
/**
 * Times that workers may give a job back before it fails: far more than deploys do, and few enough that a worker that
 * takes a job and gives it back at once does not do so for ever, with one more attempt to remember each time.
 */
export const releasesMax = 100;
/** Decisions that a job remembers; older ones are dropped so that a job that waits for ever stays small. */
const routeLengthMax = 100;

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
function beginLife(input: JobInput): JobLife {
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

function isDelayed(life: JobLife): boolean {
  return life.delayedUntil !== null;
}

/**
 * The snapshot in which the machine begins, as it is stored: the same functions decide here and in the machine, and a
 * test holds that they agree. An actor that is made only to be asked costs 10 µs of the 60 µs that a dispatch takes.
 */
export function beginning(input: JobInput): { state: JobState; life: JobLife } {
  const life = beginLife(input);
  return { state: isDelayed(life) ? 'pending.delayed' : 'pending.ready', life };
}

/** Why a worker is told to stop. */
export type AbortReason = 'cancelled' | 'timed_out';

type Of<T extends JobEvent['type']> = Extract<JobEvent, { type: T }>;

const noTally: ProviderTally = { transient: 0, rateLimited: 0 };

function tallyOf(life: JobLife, provider: string): ProviderTally {
  // A provider may be named like a property that every object inherits.
  return (Object.hasOwn(life.tallies, provider) ? life.tallies[provider] : undefined) ?? noTally;
}

function withSteps(life: JobLife, steps: RouteStep[]): RouteStep[] {
  return [...life.route, ...steps].slice(-routeLengthMax);
}

/** The attempts with the last one ended. `usage` stays null until somebody says it, also when the cost is known. */
function ended(
  life: JobLife,
  at: number,
  outcome: AttemptOutcome,
  error: Failure | null,
  usage: Usage | null,
  cost: Cost,
): Attempt[] {
  const attempt = lastAttempt(life);
  if (!attempt) return life.attempts;
  return [...life.attempts.slice(0, -1), { ...attempt, finishedAt: at, outcome, error, usage, cost }];
}

/** The attempts, the last one with the model that its worker says it ran, unless one had been asked for. */
function named(attempts: Attempt[], model: string | null): Attempt[] {
  return attempts.map((attempt, index) =>
    index === attempts.length - 1 && attempt.model === null ? { ...attempt, model } : attempt,
  );
}

/** Whether a job whose worker is lost once more must end. */
function isReapedTooOften({ reapCount }: JobLife, { maxReaps }: Of<'job.reaped'>): boolean {
  return reapCount >= maxReaps;
}

/** The turns with one more, which happened under the present lease. */
function withTurn(
  { turns = [], lease }: JobLife,
  { at, type }: Extract<JobEvent, { type: Turn['event'] }>,
  to: JobState,
): Turn[] {
  return [...turns, { at, lease, event: type, to }].slice(-turnsMax);
}

/** Back in the queue, with its place kept. */
const requeued = { startedAt: null, delayedUntil: null } as const;

function verdict(life: JobLife, event: JobEvent): Verdict | null {
  if (event.type !== 'job.attemptFailed' || event.lease !== life.lease) return null;
  if (event.final) return 'fail';
  const provider = lastAttempt(life)?.provider ?? life.target.provider;
  return verdictOn(event.error.class, tallyOf(life, provider), event.rules, event.next !== null);
}

/**
 * The life of one job. It decides what may happen and what a job remembers of it; who is told, and when, is the
 * coordinator's: it hosts the actor, commits the new snapshot, and only then lets anything leave the process.
 */
export const jobMachine = setup({
  types: {
    context: {} as JobLife,
    input: {} as JobInput,
    events: {} as JobEvent,
    tags: {} as 'terminal' | 'retryable',
  },
  guards: {
    isDelayed: ({ context }) => isDelayed(context),
    isCurrentLease: ({ context, event }) => 'lease' in event && event.lease === context.lease,
    /**
     * The last lease given, taken away without its worker's word, which has not come since: nobody has overtaken its
     * result, and it was not charged for yet.
     */
    isUnclaimedLease: ({ context, event }) => {
      if (!('lease' in event) || event.lease !== context.lease) return false;
      const attempt = lastAttempt(context);
      return attempt?.usage === null && (attempt.outcome === 'reaped' || attempt.outcome === 'lost');
    },
    /** An attempt that has ended and whose usage nobody has told yet: a frame sent twice is charged once. */
    isUncharged: ({ context, event }) =>
      'lease' in event &&
      context.attempts.some(
        ({ lease, outcome, usage }) => lease === event.lease && outcome !== null && usage === null,
      ),
    goesToNext: ({ context, event }) => verdict(context, event) === 'next',
    waitsForLimit: ({ context, event }) => verdict(context, event) === 'wait',
    triesAgain: ({ context, event }) => verdict(context, event) === 'again',
    isReapedTooOften: ({ context, event }) =>
      event.type === 'job.reaped' && event.lease === context.lease && isReapedTooOften(context, event),
    isReleasedTooOften: ({ context, event }) =>
      event.type === 'job.released' &&
      event.lease === context.lease &&
      (context.releaseCount ?? 0) + 1 >= releasesMax,
  },
  actions: {
    /** Effect, provided by the coordinator: the assignment leaves for the worker once the change is committed. */
    handToWorker: () => {},
    /** Effect, provided by the coordinator: the worker is told to stop once the change is committed. */
    abortWorker: (_, _params: { reason: AbortReason }) => {},
    becomeReady: assign(({ context, event }) => {
      const due = event as Of<'job.due'>;
      return {
        ...context,
        delayedUntil: null,
        updatedAt: due.at,
        turns: withTurn(context, due, 'pending.ready'),
      };
    }),
    beginAttempt: assign(({ context, event }) => {
      const { at, workerId, provider, model, why, skipped = [] } = event as Of<'job.assigned'>;
      const lease = context.lease + 1;
      const attempt: Attempt = {
        number: context.attempts.length + 1,
        lease,
        workerId,
        provider,
        model,
        startedAt: at,
        finishedAt: null,
        outcome: null,
        error: null,
        usage: null,
        cost: noCost,
      };
      return {
        ...context,
        lease,
        attempts: [...context.attempts, attempt],
        route: withSteps(context, [...skipped, { provider, model, workerId, outcome: 'chosen', why, at }]),
        startedAt: at,
        updatedAt: at,
      };
    }),
    moveToLane: assign(({ context, event }) => {
      const { target, chain, steps, at } = event as Of<'job.rerouted'>;
      return { ...context, target, chain, route: withSteps(context, steps), updatedAt: at };
    }),
    /** A result accepted, also a late one: the attempt's outcome becomes `completed`. */
    acceptResult: assign(({ context, event }) => {
      const { at, result, usage, cost } = event as Of<'job.completed'>;
      return {
        ...context,
        attempts: named(ended(context, at, 'completed', null, usage, cost), result.model),
        startedAt: lastAttempt(context)?.startedAt ?? null,
        finishedAt: at,
        updatedAt: at,
        delayedUntil: null,
        error: null,
        result,
      };
    }),
    endFailedAttempt: assign(({ context, event }) => {
      const { at, error, usage, cost } = event as Of<'job.attemptFailed'>;
      const attempt = lastAttempt(context);
      const provider = attempt?.provider ?? context.target.provider;
      const tally = tallyOf(context, provider);
      const isLimit = error.class === 'rate_limited';
      return {
        ...context,
        ...requeued,
        attempts: ended(context, at, isLimit ? 'rate_limited' : 'failed', error, usage, cost),
        tallies: {
          ...context.tallies,
          [provider]: isLimit
            ? { ...tally, rateLimited: tally.rateLimited + 1 }
            : { ...tally, transient: tally.transient + 1 },
        },
        route: withSteps(context, [
          {
            provider,
            model: attempt?.model ?? null,
            workerId: attempt?.workerId ?? null,
            outcome: 'failed',
            why: `${error.class}: ${error.message}`.slice(0, 300),
            at,
          },
        ]),
        updatedAt: at,
      };
    }),
    /**
     * The chain loses the member that is next, wherever it stood: those before it were skipped, not tried. The one that
     * answered 429 goes to its end while it may still be waited for. Reads the tally as it was before this failure.
     */
    takeNextTarget: assign(({ context, event }) => {
      const { next, error, rules } = event as Of<'job.attemptFailed'>;
      if (next === null) return context;
      const failed = lastAttempt(context)?.provider ?? context.target.provider;
      const isWaitedFor = error.class === 'rate_limited' && mayWaitForLimit(tallyOf(context, failed), rules);
      const candidates = candidatesOf(context);
      const untried = candidates.filter(
        (member) => member.provider !== failed && laneKey(member) !== laneKey(next),
      );
      const waitedFor = isWaitedFor ? candidates.filter(({ provider }) => provider === failed) : [];
      return { ...context, target: next, chain: [...untried, ...waitedFor] };
    }),
    delayRetry: assign(({ context, event }) => {
      const failed = event as Of<'job.attemptFailed'>;
      return {
        ...context,
        delayedUntil: failed.retryAt,
        turns: withTurn(context, failed, 'pending.delayed'),
      };
    }),
    failWithError: assign(({ context, event }) => {
      const { at, error } = event as Of<'job.attemptFailed'>;
      return { ...context, startedAt: lastAttempt(context)?.startedAt ?? null, finishedAt: at, error };
    }),
    cancelWaiting: assign(({ context, event }) => {
      const { at } = event as Of<'job.cancelled'>;
      return { ...context, delayedUntil: null, finishedAt: at, updatedAt: at };
    }),
    cancelAttempt: assign(({ context, event }) => {
      const { at, cost = noCost } = event as Of<'job.cancelled'>;
      return {
        ...context,
        attempts: ended(context, at, 'cancelled', null, null, cost),
        finishedAt: at,
        updatedAt: at,
      };
    }),
    failTimedOut: assign(({ context, event }) => {
      const { at, timeoutMs, cost = noCost } = event as Of<'job.timedOut'>;
      const error = jobTimeout(timeoutMs);
      return {
        ...context,
        attempts: ended(context, at, 'timed_out', error, null, cost),
        finishedAt: at,
        updatedAt: at,
        error,
      };
    }),
    takeBack: assign(({ context, event }) => {
      const reaped = event as Of<'job.reaped'>;
      const { at, outcome, cost = noCost } = reaped;
      return {
        ...context,
        ...requeued,
        attempts: ended(context, at, outcome, null, null, cost),
        reapCount: context.reapCount + 1,
        updatedAt: at,
        turns: withTurn(context, reaped, isReapedTooOften(context, reaped) ? 'failed' : 'pending.ready'),
      };
    }),
    failLost: assign(({ context, event }) => {
      const { at } = event as Of<'job.reaped'>;
      return {
        ...context,
        startedAt: lastAttempt(context)?.startedAt ?? null,
        finishedAt: at,
        error: workerLost(context.reapCount),
      };
    }),
    giveBack: assign(({ context, event }) => {
      const { at } = event as Of<'job.released'>;
      return {
        ...context,
        ...requeued,
        attempts: ended(context, at, 'released', null, null, noCost),
        releaseCount: (context.releaseCount ?? 0) + 1,
        updatedAt: at,
      };
    }),
    failReleased: assign(({ context, event }) => {
      const { at } = event as Of<'job.released'>;
      return {
        ...context,
        startedAt: lastAttempt(context)?.startedAt ?? null,
        finishedAt: at,
        error: releasedTooOften(releasesMax),
      };
    }),
    /** POST retry: automatic counters start again, history stays. */
    startAgain: assign(({ context, event }) => {
      const retried = event as Of<'job.retried'>;
      const { at, strategy, target, chain, cost = noCost } = retried;
      const attempt = lastAttempt(context);
      return {
        ...context,
        ...requeued,
        attempts:
          attempt && attempt.outcome === null
            ? ended(context, at, 'lost', null, null, cost)
            : context.attempts,
        strategy,
        target,
        chain,
        tallies: {},
        retryCount: context.retryCount + 1,
        reapCount: 0,
        releaseCount: 0,
        finishedAt: null,
        updatedAt: at,
        turns: withTurn(context, retried, 'pending.ready'),
        error: null,
      };
    }),
    loseWorker: assign(({ context, event }) => {
      const lost = event as Of<'job.workerLost'>;
      return { ...context, updatedAt: lost.at, turns: withTurn(context, lost, 'running.stuck') };
    }),
    findWorker: assign(({ context, event }) => {
      const returned = event as Of<'job.workerReturned'>;
      return { ...context, updatedAt: returned.at, turns: withTurn(context, returned, 'running.active') };
    }),
    /** What an ended attempt still cost. The state stays. */
    recordUsage: assign(({ context, event }) => {
      const { lease, usage, cost, at } = event as Of<'job.usageReported'>;
      return {
        ...context,
        attempts: context.attempts.map((attempt) =>
          attempt.lease === lease ? { ...attempt, usage, cost } : attempt,
        ),
        updatedAt: at,
      };
    }),
  },
}).createMachine({
  id: 'job',
  description: 'One job: from dispatch to exactly one of completed, failed, cancelled.',
  context: ({ input }) => beginLife(input),
  on: {
    'job.usageReported': {
      guard: 'isUncharged',
      actions: 'recordUsage',
      description: 'An attempt that had ended without its usage was still charged for; told once.',
    },
  },
  initial: 'pending',
  states: {
    pending: {
      description: 'Durable and in the queue; no worker has it.',
      initial: 'queued',
      on: {
        'job.cancelled': { target: 'cancelled', actions: 'cancelWaiting' },
        'job.completed': {
          guard: 'isUnclaimedLease',
          target: 'completed',
          actions: 'acceptResult',
          description: 'A late result that nobody has overtaken is money well spent.',
        },
      },
      states: {
        queued: {
          description: 'Passed through at once: decides whether the job can run now or must wait for a time.',
          always: [{ guard: 'isDelayed', target: 'delayed' }, { target: 'ready' }],
        },
        ready: {
          description: 'Stands in the lane of its target; the dispatcher may claim it.',
          on: {
            'job.assigned': { target: '#job.running', actions: ['beginAttempt', 'handToWorker'] },
            'job.rerouted': { actions: 'moveToLane' },
          },
        },
        delayed: {
          description: 'Waits for not_before or a back-off; keeps its place in the queue.',
          on: {
            'job.due': { target: 'ready', actions: 'becomeReady' },
            'job.rerouted': { actions: 'moveToLane' },
          },
        },
      },
    },
    running: {
      description: 'Leased to one worker; frames of any other lease are refused.',
      initial: 'active',
      on: {
        'job.completed': { guard: 'isCurrentLease', target: 'completed', actions: 'acceptResult' },
        'job.attemptFailed': [
          { guard: 'goesToNext', target: 'pending', actions: ['takeNextTarget', 'endFailedAttempt'] },
          {
            guard: 'waitsForLimit',
            target: 'pending',
            actions: 'endFailedAttempt',
            description: 'A limit is a wait: the job keeps its place until the provider’s limit ends.',
          },
          { guard: 'triesAgain', target: 'pending', actions: ['endFailedAttempt', 'delayRetry'] },
          { guard: 'isCurrentLease', target: 'failed', actions: ['endFailedAttempt', 'failWithError'] },
        ],
        'job.cancelled': {
          target: 'cancelled',
          actions: ['cancelAttempt', { type: 'abortWorker', params: { reason: 'cancelled' } }],
        },
        'job.timedOut': {
          guard: 'isCurrentLease',
          target: 'failed',
          actions: ['failTimedOut', { type: 'abortWorker', params: { reason: 'timed_out' } }],
        },
        'job.reaped': [
          { guard: 'isReapedTooOften', target: 'failed', actions: ['takeBack', 'failLost'] },
          { guard: 'isCurrentLease', target: 'pending', actions: 'takeBack' },
        ],
        'job.released': [
          {
            guard: 'isReleasedTooOften',
            target: 'failed',
            actions: ['giveBack', 'failReleased'],
            description: 'No worker keeps it: that must end too.',
          },
          {
            guard: 'isCurrentLease',
            target: 'pending',
            actions: 'giveBack',
            description: 'A deploy burns no attempt.',
          },
        ],
      },
      states: {
        active: {
          description: 'Its worker is connected.',
          on: { 'job.workerLost': { guard: 'isCurrentLease', target: 'stuck', actions: 'loseWorker' } },
        },
        stuck: {
          description: 'Its worker crashed or lost the connection; the job may still be running there.',
          on: {
            'job.workerReturned': { guard: 'isCurrentLease', target: 'active', actions: 'findWorker' },
            'job.retried': { target: '#job.pending', actions: 'startAgain' },
          },
        },
      },
    },
    completed: {
      description: 'Has the accepted result of exactly one attempt. Nothing takes it out.',
      tags: 'terminal',
    },
    failed: {
      description: 'Nothing left to try; error says why. POST retry brings it back to the queue.',
      tags: ['terminal', 'retryable'],
      on: { 'job.retried': { target: 'pending', actions: 'startAgain' } },
    },
    cancelled: {
      description: 'A client ended it. Nothing takes it out.',
      tags: 'terminal',
    },
  },
});
