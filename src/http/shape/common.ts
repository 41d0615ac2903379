import { type ErrorClass, errorClasses, type Failure } from '../../domain/failure.ts';
import { type Role, roles } from '../../domain/key.ts';
import { type JobState, type JobStatus, jobStates, jobStatuses } from '../../domain/states.ts';
import { type StoreStatus, storeStatuses } from '../../domain/wire/health.ts';
import type { Iso } from '../../domain/wire/iso.ts';
import { integer, named, nullable, object, oneOf, type Shape, text } from './shape.ts';

export const timeShape: Shape<Iso> = named(
  'Time',
  text({
    description: 'ISO 8601, UTC, with milliseconds.',
    format: 'date-time',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
    examples: ['2026-11-21T09:00:00.000Z'],
  }),
);

export const jobStatusShape: Shape<JobStatus> = named(
  'JobStatus',
  oneOf(
    jobStatuses,
    '`pending`: waits, see `waiting`. `running`: a worker has it. `completed`: `result` is there. `failed`: nothing left to try, `error` says why; a retry brings it back. `cancelled`: a client ended it.',
  ),
);

export const jobStateShape: Shape<JobState> = named(
  'JobState',
  oneOf(jobStates, "A state of the job's machine; its first word is the status."),
);

export const errorClassShape: Shape<ErrorClass> = named(
  'ErrorClass',
  oneOf(errorClasses, 'Decides what happens next; docs/api.md has the table.'),
);

export const failureShape = named(
  'Failure',
  object<Failure>({
    class: errorClassShape,
    code: text("A more specific code, `job_timeout` or the provider's own."),
    message: text(),
    status: nullable(integer(), 'The HTTP status that the provider answered, or one that fits.'),
  }),
);

export const roleShape: Shape<Role> = named('Role', oneOf(roles));

export const storeStatusShape: Shape<StoreStatus> = named(
  'StoreStatus',
  oneOf(
    storeStatuses,
    '`failing`: it cannot write now and retries. `failed`, `closed`: it will not write again.',
  ),
);
