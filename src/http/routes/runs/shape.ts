import { pauseReasons } from '../../../domain/run.ts';
import { batchStatuses, runStatuses } from '../../../domain/states.ts';
import type {
  WireRun,
  WireRunBatch,
  WireRunJobs,
  WireRunList,
  WireRunResult,
  WireRunRetry,
} from '../../../domain/wire/run.ts';
import { errorClassShape, jobStatusShape, timeShape } from '../../shape/common.ts';
import {
  anything,
  count,
  fields,
  integer,
  list,
  loosely,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  text,
} from '../../shape/shape.ts';
import { costStatusShape } from '../jobs/shape.ts';

export const runStatusShape = named(
  'RunStatus',
  oneOf(
    runStatuses,
    '`paused`: none of its waiting jobs starts. `completed`: every job has ended, however it ended; more jobs or a retry start it again. `cancelled`: it takes no more jobs.',
  ),
);

const dollars = number({ minimum: 0 });

export const runShape = named(
  'Run',
  object<WireRun>({
    id: text(),
    name: text('Unique; paths take it.'),
    status: runStatusShape,
    created_at: timeShape,
    created_by: nullable(object({ key_id: text(), name: nullable(text()) })),
    finished_at: nullable(timeShape),
    max_cost_usd: nullable(dollars),
    max_failures: nullable(integer({ minimum: 1 })),
    deadline: nullable(timeShape),
    defaults: loosely<WireRun['defaults']>(fields('Fields of jobs that do not set them.')),
    output_schema: loosely<WireRun['output_schema']>(
      anything('JSON Schema of its answers; null: every answer will do.'),
    ),
    output_retries: nullable(count(), 'null without a schema.'),
    counts: object({
      total: count(),
      pending: count(),
      running: count(),
      completed: count(),
      failed: count(),
      cancelled: count(),
    }),
    cost_usd: number({ description: 'What all attempts have cost, as far as that is known.', minimum: 0 }),
    cost_reserved_usd: number({
      description:
        'Estimates of the attempts that run, and of those whose cost is unknown. It counts against `max_cost_usd`.',
      minimum: 0,
    }),
    cost_expected_usd: nullable(
      dollars,
      'What it will have cost at its end, if the other jobs cost as much as those that have ended; null before the first.',
    ),
    unknown_cost_attempts: count(),
    input_tokens: count(),
    output_tokens: count(),
    rate_per_minute: number({ description: 'Jobs that ended in the last minute.', minimum: 0 }),
    eta: nullable(timeShape, 'When the last job ends at that rate; null while nothing moves.'),
    failures: list(
      object({
        class: errorClassShape,
        code: text(),
        message: text('Of one of them, at most 300 characters.'),
        count: count(),
        job_id: text('One of them.'),
      }),
      'Failed jobs by cause, the most frequent first; at most 20.',
    ),
    paused: nullable(
      object({
        reason: oneOf(pauseReasons),
        detail: text('Why, and what to do.'),
        at: timeShape,
      }),
      'null unless it is paused.',
    ),
    batch: optional(
      object<WireRunBatch>({
        status: oneOf(batchStatuses),
        endpoint: text(),
        lines: nullable(count(), 'null until its file was read.'),
        expires_at: timeShape,
        input_file_id: text(),
        output_file_id: nullable(text()),
        error_file_id: nullable(text()),
        faults: list(object({ line: nullable(integer({ minimum: 1 })), code: text(), message: text() })),
      }),
    ),
  }),
);

export const runListShape = named(
  'RunList',
  object<WireRunList>({ runs: list(runShape), total: count(), limit: count(), offset: count() }),
);

export const runJobsShape = named(
  'RunJobs',
  object<WireRunJobs>({
    created: count('Lines whose jobs are new.'),
    known: count('Lines that the run had already; nothing was sent for them.'),
  }),
);

export const runRetryShape = named(
  'RunRetry',
  object<WireRunRetry>({
    retried: count(),
    archived: count('Failed jobs that are archived, and stay as they are.'),
    run: runShape,
  }),
);

export const runResultShape = named(
  'RunResult',
  object<WireRunResult>({
    line_id: text(),
    job_id: nullable(text(), 'null when the run does not have the line.'),
    status: nullable(jobStatusShape),
    output: nullable(text()),
    tool_calls: optional(list(anything(), 'Only if the model called tools.')),
    finish_reason: nullable(text()),
    error: nullable(object({ class: errorClassShape, code: text(), message: text() })),
    provider: nullable(text()),
    model: nullable(text()),
    input_tokens: nullable(count(), 'Of all attempts.'),
    output_tokens: nullable(count(), 'Of all attempts.'),
    cost_usd: nullable(dollars),
    cost_status: nullable(costStatusShape),
    attempts: count(),
    finished_at: nullable(timeShape),
  }),
);
