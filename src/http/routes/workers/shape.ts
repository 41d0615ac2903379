import { workerStatuses } from '../../../domain/states.ts';
import type { WireWorker, WireWorkerList } from '../../../domain/wire/worker.ts';
import { failureShape, timeShape } from '../../shape/common.ts';
import {
  count,
  described,
  flag,
  integer,
  list,
  named,
  nullable,
  object,
  oneOf,
  optional,
  record,
  text,
} from '../../shape/shape.ts';

export const workerShape = named(
  'Worker',
  object<WireWorker>({
    id: text({ format: 'uuid' }),
    name: text('Unique among workers.'),
    key: nullable(
      object({ key_id: text(), name: nullable(text(), 'Of the key.') }),
      'The key that owns the name: the first that used it, until an operator deletes the worker. null for a worker of an older version that has not come back; the first key that uses its name gets it.',
    ),
    kind: oneOf(['cloud', 'local'], '`local`: a model server on its own machine.'),
    providers: list(text()),
    models: record(
      list(text()),
      'By provider, the models that it offers. A provider without an entry accepts any.',
    ),
    tags: list(text()),
    concurrency: count('Jobs at a time, as many as its key allows; 0 accepts none.'),
    connected: flag(),
    paused: flag(),
    status: oneOf(
      workerStatuses,
      '`draining`: the worker finishes running jobs and has asked for no new ones.',
    ),
    running_jobs: list(text(), 'Ids of the jobs that it runs.'),
    running: count(),
    version: nullable(text()),
    host: nullable(text()),
    connected_at: nullable(timeShape),
    last_heartbeat_at: nullable(timeShape),
    completed: count('Attempts that it completed.'),
    failed: count('Attempts that failed on it.'),
    refusals: list(
      object({
        provider: text(),
        model: nullable(text(), 'null for jobs that name no model, and for a fault of all models.'),
        fault: oneOf(
          ['unreachable', 'loading', 'refused', 'missing', 'failing'],
          '`unreachable`: it cannot reach the provider. `loading`: the provider loads the model. `refused`: the provider rejects its key, or the key has no quota. `missing`: its provider does not have the model. `failing`: several attempts in a row failed there.',
        ),
        at: described(timeShape, 'Of the last failure.'),
        until: nullable(
          timeShape,
          'Until then other workers get its jobs; then one job is sent as a trial. null: the next job, or the one under way, is the trial.',
        ),
        in_row: integer({ description: 'Failures since the last answer.', minimum: 1 }),
        error: failureShape,
      }),
      'Why the worker is skipped for a provider, or for one of its models: until one of its jobs gets an answer there, it reconnects, its models change, or an operator resumes it.',
    ),
  }),
);

export const workerListShape = named(
  'WorkerList',
  object<WireWorkerList>({
    workers: list(workerShape),
    total: count(),
    next_offset: optional(
      integer({
        description: 'Where the next page begins, when this one was ended by its size. Left out otherwise.',
        minimum: 1,
      }),
    ),
  }),
);
