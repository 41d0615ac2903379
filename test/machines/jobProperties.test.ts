import test from 'ava';
import fc from 'fast-check';
import { transition } from 'xstate';
import type { JobEvent } from '../../machines/events.ts';
import { jobMachine } from '../../machines/jobMachine.ts';
import type { JobLife } from '../../src/domain/job.ts';
import { isTerminal, type JobState } from '../../src/domain/states.ts';
import { type JobSnapshot, newJob } from './jobs.ts';
import { lives } from './lives.ts';
import { pathOf } from './stateTable.ts';

const runs = 500;

interface Moment {
  before: JobSnapshot;
  event: JobEvent;
  after: JobSnapshot;
}

/** Hold `claim` at every moment of many random lives. */
function always(claim: (moment: Moment) => boolean): void {
  fc.assert(
    fc.property(lives, ([notBefore, members, makers]) => {
      let before = newJob({ notBefore, chain: members });
      for (const maker of makers) {
        const event = maker(before.context);
        const [after] = transition(jobMachine, before, event);
        if (!claim({ before, event, after }))
          throw new Error(`${pathOf(before)} → ${pathOf(after)} on ${JSON.stringify(event)}`);
        before = after;
      }
    }),
    { numRuns: runs },
  );
}

const stateOf = (snapshot: JobSnapshot): JobState => pathOf(snapshot) as JobState;
const open = (life: JobLife) => life.attempts.filter(({ outcome }) => outcome === null);

function holds(title: string, claim: (moment: Moment) => boolean): void {
  test(title, (t) => {
    t.notThrows(() => always(claim));
  });
}

holds('a lease never falls, and rises by one with an assignment only', ({ before, event, after }) => {
  const rise = after.context.lease - before.context.lease;
  return rise === (event.type === 'job.assigned' && after !== before && after.matches('running') ? 1 : 0);
});

holds(
  'one attempt is open while a job runs, the last one, and none otherwise',
  ({ after: { context }, after }) =>
    after.matches('running')
      ? open(context).length === 1 && open(context)[0] === context.attempts.at(-1)
      : open(context).length === 0,
);

holds(
  'attempts are numbered 1, 2, 3 … and none is ever taken away',
  ({ before, after }) =>
    after.context.attempts.every(({ number, lease }, index) => number === index + 1 && lease === number) &&
    after.context.attempts.length >= before.context.attempts.length,
);

holds(
  'the history is not rewritten: an attempt that ended changes only by its late usage or result',
  (moment) =>
    moment.before.context.attempts.every((attempt, index) => {
      const now = moment.after.context.attempts[index];
      if (attempt.outcome === null || now === attempt) return true;
      const { event } = moment;
      return (
        (event.type === 'job.usageReported' || event.type === 'job.completed') &&
        event.lease === attempt.lease &&
        attempt.usage === null &&
        now?.startedAt === attempt.startedAt
      );
    }),
);

holds('a usage that is known is never replaced: an attempt is charged once', ({ before, after }) =>
  before.context.attempts.every(
    ({ usage: known }, index) => known === null || after.context.attempts[index]?.usage === known,
  ),
);

holds('a completed and a cancelled job stay so for ever', ({ before, after }) =>
  before.matches('completed') || before.matches('cancelled') ? after.value === before.value : true,
);

holds('a failed job is left by a retry only', ({ before, event, after }) =>
  before.matches('failed') && !after.matches('failed') ? event.type === 'job.retried' : true,
);

holds(
  'a job has a result exactly when it is completed, an error exactly when it failed',
  ({ after }) =>
    (after.context.result !== null) === after.matches('completed') &&
    (after.context.error !== null) === after.matches('failed'),
);

holds(
  'a job is finished exactly when it has ended, and carries the tag of it',
  ({ after }) =>
    (after.context.finishedAt !== null) === isTerminal(stateOf(after)) &&
    after.hasTag('terminal') === isTerminal(stateOf(after)),
);

holds('a job that waits has not started, one that runs has', ({ after }) =>
  after.matches('pending')
    ? after.context.startedAt === null
    : !after.matches('running') || after.context.startedAt !== null,
);

holds(
  'a job waits for a time exactly when it is delayed',
  ({ after }) => (after.context.delayedUntil !== null) === after.matches({ pending: 'delayed' }),
);

holds(
  'the place in the queue never changes',
  ({ before, after }) => after.context.enqueuedAt === before.context.enqueuedAt,
);

holds('a result is taken from one attempt at most', ({ after }) => {
  const completed = after.context.attempts.filter(({ outcome }) => outcome === 'completed').length;
  return completed === (after.matches('completed') ? 1 : 0);
});

holds('an event is accepted or leaves no trace', ({ before, event, after }) =>
  before.can(event)
    ? after.context.updatedAt === event.at
    : after.context === before.context && after.value === before.value,
);

holds(
  'time of the last change never goes back, and retries are only counted up',
  ({ before, after }) =>
    after.context.updatedAt >= before.context.updatedAt &&
    after.context.retryCount >= before.context.retryCount,
);
