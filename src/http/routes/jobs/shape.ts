import type { Message } from '../../../domain/job.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import type { CostStatus } from '../../../domain/money.ts';
import type {
  WireAttempt,
  WireBatch,
  WireBulk,
  WireJob,
  WireJobHistory,
  WireJobList,
  WireJobResult,
  WireListedJob,
  WireRouteStep,
  WireTokens,
  WireWholeJob,
} from '../../../domain/wire/job.ts';
import type { WireRunLine } from '../../../domain/wire/runLine.ts';
import { pageMax } from '../../query.ts';
import { failureShape, jobStateShape, jobStatusShape, timeShape } from '../../shape/common.ts';
import {
  anything,
  count,
  described,
  fields,
  flag,
  integer,
  list,
  literal,
  loosely,
  type Members,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  text,
} from '../../shape/shape.ts';
import { bulkMax } from './limits.ts';

export const messageShape = named(
  'Message',
  loosely<Message>(
    object<Pick<Message, 'role'> & Partial<Pick<Message, 'content'>>>(
      {
        role: text({ minLength: 1, maxLength: nameLengthMax }),
        content: optional(
          anything(
            'A text or the parts that the provider takes. Required, but for a message with tool_calls.',
          ),
        ),
      },
      {
        description: 'One message of a chat. It is passed on unchanged, with any further fields.',
        additionalProperties: true,
      },
    ),
  ),
);

const usageShape = named(
  'Usage',
  object<WireTokens>(
    {
      input_tokens: count('Cached ones included.'),
      output_tokens: count('Reasoning included.'),
      cached_input_tokens: count(),
      cache_write_tokens: optional(
        integer({
          description:
            "Part of the input that was written to the provider's cache; only present if the provider reports it.",
          minimum: 1,
        }),
      ),
      reasoning_tokens: count(),
      total_tokens: count(),
    },
    'Tokens.',
  ),
);

const resultShape = named(
  'Result',
  object<WireJobResult>({
    output: text('What the model answered.'),
    tool_calls: optional(
      list(
        object({
          id: text(),
          type: literal('function'),
          function: object({ name: text(), arguments: text('JSON as text.') }),
        }),
        {
          description:
            'The calls that the model wants; only present if there are any. Send the answers as messages of a new job.',
          minItems: 1,
        },
      ),
    ),
    finish_reason: text('Why it stopped: `stop`, `length`, `tool_calls`, `content_filter` or `other`.'),
    provider: text('Who ran it.'),
    model: nullable(text(), 'The model that ran it.'),
    worker_id: text(),
    usage: usageShape,
    raw_usage: optional(
      anything("The provider's own figures, in its own form; only present if the worker reported them."),
    ),
    latency_ms: number({ minimum: 0 }),
    first_token_ms: nullable(number({ minimum: 0 })),
  }),
);

export const costStatusShape: Shape<CostStatus> = named(
  'CostStatus',
  oneOf(
    ['none', 'known', 'unknown', 'partial'],
    '`none`: nothing was charged. `partial`: the cost of some attempts is known and of others unknown.',
  ),
);

const waitingShape = named(
  'Waiting',
  object<NonNullable<WireJob['waiting']>>({
    reason: oneOf(
      [
        'no_worker',
        'workers_paused',
        'workers_unhealthy',
        'workers_busy',
        'concurrency_zero',
        'provider_limited',
        'provider_open',
        'provider_full',
        'delayed',
        'queue_paused',
        'run_paused',
        'run_budget',
        'draining',
      ],
      '`no_worker`: no connected worker fits. `workers_paused`, `concurrency_zero`, `workers_busy`: those that fit accept none now. `workers_unhealthy`: those that fit cannot reach their provider now, or wait until it has loaded the model; one job is sent to try again at `until`. `provider_limited`: the provider returned 429. `provider_open`: too many of its attempts failed. `provider_full`: its `max_concurrent` is reached. `delayed`: `not_before`, or a pause before the next attempt. `queue_paused`: an operator has paused the queue. `run_paused`: the run of the job is paused. `run_budget`: running jobs of the run may need the rest of its budget. `draining`: the coordinator is shutting down.',
    ),
    detail: text(
      'What would end the wait; for `queue_paused` who paused it and why; for `provider_open` and `workers_unhealthy` also the failure that led to it.',
    ),
    until: nullable(timeShape, 'When it ends, if that is known.'),
    position: nullable(
      integer({ minimum: 1 }),
      'Its place among the jobs that wait for the same; null in lists.',
    ),
  }),
);

const routeStepShape = named(
  'RouteStep',
  object<WireRouteStep>({
    provider: text(),
    model: nullable(text()),
    worker_id: nullable(text()),
    outcome: oneOf(['chosen', 'skipped', 'failed']),
    why: text(),
    at: timeShape,
  }),
);

const dollarsShape: Shape<number | null> = named(
  'Dollars',
  nullable(
    number({ minimum: 0 }),
    'US dollars; null if nothing was charged or the cost is unknown, never 0 for unknown.',
  ),
);

const attemptShape = named(
  'Attempt',
  object<WireAttempt>(
    {
      number: integer({ description: 'Within the job: 1, 2, 3 …', minimum: 1 }),
      lease: integer({
        description: 'Only rises within a job; frames with an older one are rejected.',
        minimum: 1,
      }),
      worker_id: text(),
      provider: text(),
      model: nullable(text()),
      started_at: timeShape,
      finished_at: nullable(timeShape),
      outcome: nullable(
        oneOf([
          'completed',
          'failed',
          'rate_limited',
          'cancelled',
          'timed_out',
          'reaped',
          'lost',
          'released',
        ]),
        'null while it runs. `reaped`: its worker was silent for too long. `lost`: its worker no longer knows it. `released`: its worker gave it back without running it. The others are self-explanatory.',
      ),
      error: nullable(failureShape),
      usage: nullable(usageShape),
      usage_implausible: optional(
        literal(
          true,
          'The worker reported more tokens than `cost.tokens_max_per_attempt`: `usage` has them as reported, the cost is unknown, and they are in no sum.',
        ),
      ),
      cost_usd: dollarsShape,
      cost_status: costStatusShape,
    },
    'One execution on one worker.',
  ),
);

const jobMembers: Members<Omit<WireWholeJob, 'input' | 'result'>> = {
  id: text({ description: 'A UUID, version 7: later jobs have greater ids.', format: 'uuid' }),
  status: jobStatusShape,
  prompt: nullable(text(), 'null if the job has `messages` instead.'),
  messages: nullable(list(messageShape)),
  provider: nullable(
    text(),
    'What the job asked for; null if routing decides. `result` and `attempts` say what ran it.',
  ),
  model: nullable(text(), 'What was asked for.'),
  priority: text(),
  tier: nullable(text()),
  webhook: optional(
    text('The webhook or URL that is notified of its end; left out when the job named none.'),
  ),
  run: nullable(
    named('RunLine', object<WireRunLine>({ name: text(), line_id: text() })),
    'The run that it belongs to, and its line there.',
  ),
  tags: list(text()),
  params: fields(),
  metadata: record(text()),
  created_at: timeShape,
  created_by: nullable(
    object({ key_id: text(), name: nullable(text()) }),
    'The key that sent it, with its name at that time; null for a job from before this was recorded.',
  ),
  updated_at: described(timeShape, 'Of the last change of state.'),
  started_at: nullable(timeShape, 'Start of the current or final attempt; null while pending.'),
  finished_at: nullable(timeShape, 'null until it has ended.'),
  not_before: nullable(timeShape),
  enqueued_at: described(
    timeShape,
    'The time that its place in the queue is based on; a job that is queued again keeps it.',
  ),
  timeout_seconds: nullable(number(), "The job's own; null if `jobs.timeout_seconds` applies."),
  worker_id: nullable(text(), 'The worker that runs it, or ran it last; null while pending.'),
  heartbeat_at: nullable(timeShape, 'When its worker last reported that it runs it; null if no worker does.'),
  stuck: flag(
    'It is `running`, and its worker has crashed or lost the connection. It continues when the worker comes back, is queued again after `jobs.reap_stale_after_seconds`, or at once by a retry.',
  ),
  attempt_count: count('Executions; those that a worker gave back are not counted.'),
  retry_count: count('How often it was retried by request.'),
  reap_count: count('How often its worker was lost.'),
  cost_usd: described(dollarsShape, 'Of all attempts together; null when there is none or it is unknown.'),
  cost_status: costStatusShape,
  waiting: nullable(waitingShape, 'Why it has not started; null unless it is pending.'),
  route: list(routeStepShape, 'Every routing decision, with its reason.'),
  attempts: list(attemptShape, 'Every execution, oldest first.'),
  error: nullable(failureShape, 'Why it failed; null unless it has.'),
};

export const jobShape = named(
  'Job',
  object<WireWholeJob>(
    {
      ...jobMembers,
      input: nullable(text()),
      result: nullable(resultShape, 'null until the job is completed.'),
    },
    'A job, whole.',
  ),
);

const listedJobShape = named(
  'ListedJob',
  object<WireListedJob>(
    {
      ...jobMembers,
      input: optional(nullable(text())),
      result: optional(nullable(resultShape, 'null until the job is completed.')),
      prompt_truncated: flag(),
      input_truncated: optional(flag()),
      messages_truncated: optional(literal(true)),
      tags_truncated: optional(literal(true)),
      params_truncated: optional(literal(true)),
      metadata_truncated: optional(literal(true)),
      route_truncated: optional(literal(true)),
      attempts_truncated: optional(literal(true)),
      error_truncated: optional(literal(true)),
    },
    'A job as lists and live events show it, without `input` and `result` unless you ask for them. `prompt`, `input` and each text in `messages`, `tags`, `params` and `metadata` have their first 500 characters, each of these four 2,000 in all; of `messages` the last ones are shown. `route` and `attempts` have their last ten entries; `why` of a route and `message` of an error have 500 characters. `…_truncated` is true if something was cut, and left out otherwise, except for `prompt` and `input`.',
  ),
);

export const jobListShape = named(
  'JobList',
  object<Omit<WireJobList, 'jobs'> & { jobs: WireListedJob[] }>({
    jobs: list(listedJobShape),
    total: count('How many match the filters.'),
    total_capped: optional(
      literal(true, 'There are more than `total`; counting stopped there. Left out otherwise.'),
    ),
    limit: integer({ minimum: 1, maximum: pageMax }),
    offset: count(),
    next_offset: optional(
      integer({
        description:
          'Where the next page begins, when this one was ended by its size before its limit. Left out otherwise.',
        minimum: 1,
      }),
    ),
  }),
);

export const batchShape = named(
  'Batch',
  object<WireBatch>({
    jobs: list(object({ id: text({ format: 'uuid' }), status: jobStatusShape })),
    count: integer({ minimum: 1 }),
  }),
);

export const bulkResultShape = named(
  'BulkResult',
  object<WireBulk>({
    changed: integer({ minimum: 0, maximum: bulkMax }),
    refused_count: integer({ minimum: 0, maximum: bulkMax }),
    refused: list(
      object({ id: text(), code: oneOf(['invalid_transition', 'job_not_found']), detail: text() }),
      'The first 100 of them.',
    ),
    has_more: flag('There are more matching jobs.'),
  }),
);

export const jobHistoryShape = named(
  'JobHistory',
  object<WireJobHistory>({
    job_id: text(),
    state: jobStateShape,
    entries: list(
      object({
        at: timeShape,
        event: nullable(text(), 'The event of the machine; null for the dispatch.'),
        from: nullable(jobStateShape),
        to: jobStateShape,
        attempt: nullable(integer({ minimum: 1 }), 'The last attempt at that moment; null before the first.'),
      }),
      { maxItems: 1000 },
    ),
    truncated: flag(
      'Whether entries are missing. A job keeps the last 100 changes that its attempts do not show.',
    ),
  }),
);
