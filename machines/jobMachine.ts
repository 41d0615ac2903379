import { assign, setup } from 'xstate';
import { beginLife, type JobInput, type JobLife, lastAttempt } from '../src/domain/job.ts';
import type { JobState } from '../src/domain/states.ts';
import type { JobEvent } from './events.ts';
import type { Of } from './jobLife.ts';
import * as life from './jobLife.ts';
import { Runner } from './runner.ts';

/** Why a worker has to stop. */
type AbortReason = 'cancelled' | 'timed_out';
/** What the coordinator does once a change is committed. The machine names it. */
export type JobEffect = { type: 'handToWorker' } | { type: 'abortWorker'; reason: AbortReason };

/**
 * The life of one job. It decides what may happen and what a job remembers of it. The coordinator hosts the actor, commits
 * the new snapshot, and only then lets anything leave the process.
 */
export const jobMachine = setup({
  types: {
    context: {} as JobLife,
    input: {} as JobInput,
    events: {} as JobEvent,
    tags: {} as 'terminal',
  },
  guards: {
    isDelayed: ({ context }) => life.isDelayed(context),
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
    /** An attempt that has ended and whose usage is not known yet: a frame sent twice is charged once. */
    isUncharged: ({ context, event }) =>
      'lease' in event &&
      context.attempts.some(
        ({ lease, outcome, usage }) => lease === event.lease && outcome !== null && usage === null,
      ),
    goesToNext: ({ context, event }) => life.verdict(context, event) === 'next',
    waitsForLimit: ({ context, event }) => life.verdict(context, event) === 'wait',
    goesElsewhere: ({ context, event }) => life.verdict(context, event) === 'elsewhere',
    triesAgain: ({ context, event }) => life.verdict(context, event) === 'again',
    isReapedTooOften: ({ context, event }) =>
      event.type === 'job.reaped' && event.lease === context.lease && life.isReapedTooOften(context, event),
    isReleasedTooOften: ({ context, event }) =>
      event.type === 'job.released' &&
      event.lease === context.lease &&
      (context.releaseCount ?? 0) + 1 >= life.releasesMax,
  },
  actions: {
    /** Effect: the coordinator sends the assignment to the worker once the change is committed. */
    handToWorker: () => {},
    /** Effect: the coordinator tells the worker to stop once the change is committed. */
    abortWorker: (_, _params: { reason: AbortReason }) => {},
    becomeReady: assign(({ context, event }) => life.becomeReady(context, event as Of<'job.due'>)),
    beginAttempt: assign(({ context, event }) => life.beginAttempt(context, event as Of<'job.assigned'>)),
    acceptResult: assign(({ context, event }) => life.acceptResult(context, event as Of<'job.completed'>)),
    endFailedAttempt: assign(({ context, event }) =>
      life.endFailedAttempt(context, event as Of<'job.attemptFailed'>),
    ),
    takeNextTarget: assign(({ context, event }) =>
      life.takeNextTarget(context, event as Of<'job.attemptFailed'>),
    ),
    delayRetry: assign(({ context, event }) => life.delayRetry(context, event as Of<'job.attemptFailed'>)),
    failWithError: assign(({ context, event }) =>
      life.failWithError(context, event as Of<'job.attemptFailed'>),
    ),
    cancelWaiting: assign(({ context, event }) => life.cancelWaiting(context, event as Of<'job.cancelled'>)),
    cancelAttempt: assign(({ context, event }) => life.cancelAttempt(context, event as Of<'job.cancelled'>)),
    failKeyRevoked: assign(({ context, event }) =>
      life.failKeyRevoked(context, event as Of<'job.keyRevoked'>),
    ),
    failTimedOut: assign(({ context, event }) => life.failTimedOut(context, event as Of<'job.timedOut'>)),
    takeBack: assign(({ context, event }) => life.takeBack(context, event as Of<'job.reaped'>)),
    failLost: assign(({ context, event }) => life.failLost(context, event as Of<'job.reaped'>)),
    giveBack: assign(({ context, event }) => life.giveBack(context, event as Of<'job.released'>)),
    failReleased: assign(({ context, event }) => life.failReleased(context, event as Of<'job.released'>)),
    startAgain: assign(({ context, event }) => life.startAgain(context, event as Of<'job.retried'>)),
    loseWorker: assign(({ context, event }) => life.loseWorker(context, event as Of<'job.workerLost'>)),
    findWorker: assign(({ context, event }) => life.findWorker(context, event as Of<'job.workerReturned'>)),
    recordUsage: assign(({ context, event }) => life.recordUsage(context, event as Of<'job.usageReported'>)),
  },
}).createMachine({
  id: 'job',
  description: 'One job: from dispatch to exactly one of completed, failed, cancelled.',
  context: ({ input }) => beginLife(input),
  on: {
    'job.usageReported': {
      guard: 'isUncharged',
      actions: 'recordUsage',
      description: 'An attempt that had ended without its usage was still charged for; counted once.',
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
          description: 'Waits for its turn, and for a free slot of a worker that fits.',
          on: {
            'job.assigned': { target: '#job.running', actions: ['beginAttempt', 'handToWorker'] },
          },
        },
        delayed: {
          description:
            'Waits until not_before, or for a pause after a failed attempt to end; keeps its place in the queue.',
          on: {
            'job.due': { target: 'ready', actions: 'becomeReady' },
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
          {
            guard: 'goesElsewhere',
            target: 'pending',
            actions: 'endFailedAttempt',
            description: 'The worker’s fault: another worker takes the job, or it waits until one can.',
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
        'job.keyRevoked': {
          guard: 'isCurrentLease',
          target: 'failed',
          actions: 'failKeyRevoked',
          description: 'The key of its worker was revoked.',
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
      tags: 'terminal',
      on: { 'job.retried': { target: 'pending', actions: 'startAgain' } },
    },
    cancelled: {
      description: 'A client ended it. Nothing takes it out.',
      tags: 'terminal',
    },
  },
});

/** Runs jobs: `jobMachine` with the turns that a job remembers. */
export const jobRunner = new Runner<typeof jobMachine, JobState, JobEffect>(jobMachine, life.withTurn);
