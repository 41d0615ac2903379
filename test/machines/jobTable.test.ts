import type { JobEvent } from '../../machines/events.ts';
import { jobMachine } from '../../machines/jobMachine.ts';
import type { JobLife } from '../../src/domain/job.ts';
import { after, jobsInEveryState, make, newJob, targetOf } from './jobs.ts';
import { checkTable, checkWholeTable, type EveryEventHasARow, type Rows } from './stateTable.ts';

const next = targetOf('b');

const rows = {
  'job.due': make.due,
  'job.assigned': make.assigned,
  'job.cancelled': make.cancelled,
  'job.completed': make.completed(),
  'job.completed of an older lease': (life) => make.completed({ lease: life.lease - 1 })(life),
  'job.completed of a lease never given': make.completed({ lease: 99 }),
  'job.attemptFailed': make.failed('invalid_request'),
  'job.attemptFailed and a next one to try': make.failed('unknown', { next }),
  'job.attemptFailed with 429 and a next one': make.failed('rate_limited', { next }),
  'job.attemptFailed with 429 that is waited out': make.failed('rate_limited'),
  'job.attemptFailed with 429 and no rate_limit': make.failed('rate_limited', {
    rules: { maxAttempts: 3, maxRateLimitRetries: null, fallbackOnTimeout: true },
  }),
  'job.attemptFailed that may pass': make.failed('overloaded'),
  'job.attemptFailed that may pass, next one too': make.failed('overloaded', { next }),
  'job.attemptFailed and the server not reached': make.failed('network'),
  'job.attemptFailed and the key refused, others well': make.failed('auth', {
    next,
    others: { able: true, untried: true },
  }),
  'job.attemptFailed of an older lease': (life) =>
    make.failed('overloaded', { lease: life.lease - 1, next })(life),
  'job.attemptFailed of a lease never given': make.failed('auth', { lease: 99, next }),
  'job.workerLost': make.workerLost,
  'job.workerLost of another lease': (life) => ({ ...make.workerLost(life), lease: 99 }) as JobEvent,
  'job.workerReturned': make.workerReturned,
  'job.workerReturned of another lease': (life) => ({ ...make.workerReturned(life), lease: 99 }) as JobEvent,
  'job.keyRevoked': make.keyRevoked,
  'job.keyRevoked of another lease': (life) => ({ ...make.keyRevoked(life), lease: 99 }) as JobEvent,
  'job.timedOut': make.timedOut(),
  'job.timedOut of another lease': make.timedOut({ lease: 99 }),
  'job.reaped': make.reaped(),
  'job.reaped as lost': make.reaped('lost'),
  'job.reaped once too often': make.reaped('reaped', { maxReaps: 0 }),
  'job.reaped as lost once too often': make.reaped('lost', { maxReaps: 0 }),
  'job.reaped of another lease': make.reaped('reaped', { lease: 99 }),
  'job.reaped of another lease once too often': make.reaped('reaped', { lease: 99, maxReaps: 0 }),
  'job.released': make.released,
  'job.released of another lease': (life) => ({ ...make.released(life), lease: 99 }) as JobEvent,
  'job.retried': make.retried(),
  'job.usageReported of an attempt that ended': make.usageReported({ lease: 1 }),
  'job.usageReported of the last lease': make.usageReported(),
  'job.usageReported of a lease never given': make.usageReported({ lease: 99 }),
} satisfies Rows<JobEvent, JobLife>;

const isWhole: EveryEventHasARow<JobEvent, keyof typeof rows> = true;

checkWholeTable(
  'job',
  jobMachine,
  jobsInEveryState(),
  rows,
  `
event                                         | pending.ready   | pending.delayed | running.active  | running.stuck   | completed | failed        | cancelled
job.due                                       | -               | pending.ready   | -               | -               | -         | -             | -
job.assigned                                  | running.active  | -               | -               | -               | -         | -             | -
job.cancelled                                 | cancelled       | cancelled       | cancelled       | cancelled       | -         | -             | -
job.completed                                 | -               | -               | completed       | completed       | -         | -             | -
job.completed of an older lease               | -               | -               | -               | -               | -         | -             | -
job.completed of a lease never given          | -               | -               | -               | -               | -         | -             | -
job.attemptFailed                             | -               | -               | failed          | failed          | -         | -             | -
job.attemptFailed and a next one to try       | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.attemptFailed with 429 and a next one     | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.attemptFailed with 429 that is waited out | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.attemptFailed with 429 and no rate_limit  | -               | -               | failed          | failed          | -         | -             | -
job.attemptFailed that may pass               | -               | -               | pending.delayed | pending.delayed | -         | -             | -
job.attemptFailed that may pass, next one too | -               | -               | pending.delayed | pending.delayed | -         | -             | -
job.attemptFailed and the server not reached  | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.attemptFailed and the key refused, others well | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.attemptFailed of an older lease           | -               | -               | -               | -               | -         | -             | -
job.attemptFailed of a lease never given      | -               | -               | -               | -               | -         | -             | -
job.workerLost                                | -               | -               | running.stuck   | -               | -         | -             | -
job.workerLost of another lease               | -               | -               | -               | -               | -         | -             | -
job.workerReturned                            | -               | -               | -               | running.active  | -         | -             | -
job.workerReturned of another lease           | -               | -               | -               | -               | -         | -             | -
job.keyRevoked                                | -               | -               | failed          | failed          | -         | -             | -
job.keyRevoked of another lease               | -               | -               | -               | -               | -         | -             | -
job.timedOut                                  | -               | -               | failed          | failed          | -         | -             | -
job.timedOut of another lease                 | -               | -               | -               | -               | -         | -             | -
job.reaped                                    | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.reaped as lost                            | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.reaped once too often                     | -               | -               | failed          | failed          | -         | -             | -
job.reaped as lost once too often             | -               | -               | failed          | failed          | -         | -             | -
job.reaped of another lease                   | -               | -               | -               | -               | -         | -             | -
job.reaped of another lease once too often    | -               | -               | -               | -               | -         | -             | -
job.released                                  | -               | -               | pending.ready   | pending.ready   | -         | -             | -
job.released of another lease                 | -               | -               | -               | -               | -         | -             | -
job.retried                                   | -               | -               | -               | pending.ready   | -         | pending.ready | -
job.usageReported of an attempt that ended    | pending.ready   | pending.delayed | running.active  | running.stuck   | completed | failed        | cancelled
job.usageReported of the last lease           | pending.ready   | pending.delayed | -               | -               | -         | failed        | cancelled
job.usageReported of a lease never given      | -               | -               | -               | -               | -         | -             | -
`,
  isWhole,
);

/** A pending job by how its last attempt ended, which decides what a late word of that attempt is worth. */
const active = after(newJob(), make.assigned);
const pendingAfter = {
  nothing: newJob(),
  reaped: after(active, make.reaped()),
  lost: after(active, make.reaped('lost')),
  'retry of stuck': after(active, make.workerLost, make.retried()),
  'worker_lost, retried': after(active, make.reaped('reaped', { maxReaps: 0 }), make.retried()),
  'reaped, charged': after(active, make.reaped(), make.usageReported()),
  'overtaken, released': after(active, make.reaped(), make.assigned, make.released),
  released: after(active, make.released),
  'rate limit': after(active, make.failed('rate_limited')),
  'timeout, retried': after(active, make.timedOut(), make.retried()),
  'failure, retried': after(active, make.failed('auth'), make.retried()),
};

const lateWords = {
  'job.completed of the last lease': make.completed(),
  'job.completed of the first lease': make.completed({ lease: 1 }),
  'job.attemptFailed of the last lease': make.failed('overloaded', { next }),
  'job.released of the last lease': make.released,
  'job.workerReturned of the last lease': make.workerReturned,
  'job.reaped of the last lease': make.reaped('lost'),
  'job.timedOut of the last lease': make.timedOut(),
  'job.usageReported of the last lease': make.usageReported(),
} satisfies Rows<JobEvent, JobLife>;

checkTable(
  'pending job after',
  jobMachine,
  pendingAfter,
  lateWords,
  `
late event                           | nothing | reaped        | lost          | retry of stuck | worker_lost, retried | reaped, charged | overtaken, released | released      | rate limit    | timeout, retried | failure, retried
job.completed of the last lease      | -       | completed     | completed     | completed      | completed            | -               | -                   | -             | -             | -                | -
job.completed of the first lease     | -       | completed     | completed     | completed      | completed            | -               | -                   | -             | -             | -                | -
job.attemptFailed of the last lease  | -       | -             | -             | -              | -                    | -               | -                   | -             | -             | -                | -
job.released of the last lease       | -       | -             | -             | -              | -                    | -               | -                   | -             | -             | -                | -
job.workerReturned of the last lease | -       | -             | -             | -              | -                    | -               | -                   | -             | -             | -                | -
job.reaped of the last lease         | -       | -             | -             | -              | -                    | -               | -                   | -             | -             | -                | -
job.timedOut of the last lease       | -       | -             | -             | -              | -                    | -               | -                   | -             | -             | -                | -
job.usageReported of the last lease  | -       | pending.ready | pending.ready | pending.ready  | pending.ready        | -               | pending.ready       | pending.ready | pending.ready | pending.ready    | pending.ready
`,
);

/** A job that a newer attempt has overtaken, or that has ended: what its first attempt still says. */
const beyondFirst = {
  overtaken: after(active, make.reaped(), make.assigned),
  'overtaken, stuck': after(active, make.reaped(), make.assigned, make.workerLost),
  'overtaken, completed': after(active, make.reaped(), make.assigned, make.completed()),
  worker_lost: after(active, make.reaped('reaped', { maxReaps: 0 })),
  'timed out': after(active, make.timedOut()),
  'cancelled running': after(active, make.cancelled),
  'cancelled waiting': after(active, make.reaped(), make.cancelled),
  'completed late': after(active, make.reaped(), make.completed()),
};

const firstWords = {
  'job.completed of the first lease': make.completed({ lease: 1 }),
  'job.attemptFailed of the first lease': make.failed('overloaded', { lease: 1, next }),
  'job.reaped of the first lease': make.reaped('lost', { lease: 1 }),
  'job.usageReported of the first lease': make.usageReported({ lease: 1 }),
} satisfies Rows<JobEvent, JobLife>;

checkTable(
  'job beyond its first attempt',
  jobMachine,
  beyondFirst,
  firstWords,
  `
late event                           | overtaken      | overtaken, stuck | overtaken, completed | worker_lost | timed out | cancelled running | cancelled waiting | completed late
job.completed of the first lease     | -              | -                | -                    | -           | -         | -                 | -                 | -
job.attemptFailed of the first lease | -              | -                | -                    | -           | -         | -                 | -                 | -
job.reaped of the first lease        | -              | -                | -                    | -           | -         | -                 | -                 | -
job.usageReported of the first lease | running.active | running.stuck    | completed            | failed      | failed    | cancelled         | cancelled         | -
`,
);
