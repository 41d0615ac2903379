import type {
  WireCostBreakdown,
  WireCostLine,
  WireCostPeriod,
  WireCostSummary,
  WireCostTotals,
} from '../../../domain/wire/cost.ts';
import { timeShape } from '../../shape/common.ts';
import {
  count,
  described,
  list,
  literal,
  type Members,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Shape,
  text,
} from '../../shape/shape.ts';

const knownDollarsShape: Shape<number> = named(
  'KnownDollars',
  number({
    description:
      'US dollars, of the attempts whose cost is known. Those whose cost is not known are counted in `unknown_cost_attempts`; 0 together with such attempts means that nothing is known.',
    minimum: 0,
  }),
);

const endedJobsShape: Shape<number> = named(
  'EndedJobs',
  count(
    'Jobs that have ended, each counted once, where its last attempt ran; those that never ran do not count.',
  ),
);

const endedAttemptsShape: Shape<number> = named('EndedAttempts', count('Attempts that have ended.'));

const unknownAttemptsShape: Shape<number> = named(
  'UnknownAttempts',
  count('Attempts whose cost is not known yet.'),
);

const costPeriodShape: Shape<WireCostPeriod['period']> = named(
  'CostPeriod',
  oneOf(['day', 'week', 'month', 'custom'], 'custom for a report of days.'),
);

const periodMembers: Members<WireCostPeriod & Pick<WireCostTotals, 'total_cost_usd'>> = {
  period: costPeriodShape,
  from: timeShape,
  to: described(timeShape, 'Now, or the end of the last day.'),
  timezone: text(),
  currency: literal('USD'),
  total_cost_usd: knownDollarsShape,
};

const totalMembers: Members<WireCostTotals> = {
  total_cost_usd: knownDollarsShape,
  jobs: endedJobsShape,
  attempts: endedAttemptsShape,
  input_tokens: count(),
  output_tokens: count(),
  cached_input_tokens: count(),
  reasoning_tokens: count(),
  unknown_cost_attempts: unknownAttemptsShape,
};

export const costSummaryShape = named(
  'CostSummary',
  object<WireCostSummary>({
    ...periodMembers,
    ...totalMembers,
    previous: object({ ...totalMembers, from: timeShape, to: timeShape }, 'The whole period before.'),
    series: list(
      object({
        from: timeShape,
        cost_usd: knownDollarsShape,
        jobs: endedJobsShape,
        unknown_cost_attempts: unknownAttemptsShape,
      }),
      'By hours of a day, by days of a week or month; none after now.',
    ),
  }),
);

const lineMembers: Members<WireCostLine> = {
  cost_usd: knownDollarsShape,
  share: number({ description: 'Of the total cost; 0 when nothing has a cost.', minimum: 0, maximum: 1 }),
  jobs: endedJobsShape,
  attempts: endedAttemptsShape,
  input_tokens: count(),
  output_tokens: count(),
  unknown_cost_attempts: unknownAttemptsShape,
};

export const costBreakdownShape = named(
  'CostBreakdown',
  object<WireCostBreakdown>(
    {
      ...periodMembers,
      providers: optional(
        list(
          object({
            ...lineMembers,
            provider: text(),
            models: list(object({ ...lineMembers, model: nullable(text()) })),
          }),
          'By provider, with its models.',
        ),
      ),
      models: optional(
        list(
          object({ ...lineMembers, provider: text(), model: nullable(text()) }),
          'By provider and model; null if no model was known.',
        ),
      ),
      workers: optional(
        list(
          object({ ...lineMembers, worker_id: text(), name: nullable(text()) }),
          'By worker; `name` is null when the worker was forgotten.',
        ),
      ),
      tags: optional(
        list(
          object({ ...lineMembers, tag: nullable(text()) }),
          'By tag; null for jobs without tags. A job with several counts for each, so shares can add up to more than 1.',
        ),
      ),
      tiers: optional(
        list(object({ ...lineMembers, tier: nullable(text()) }), 'By tier; null for jobs without one.'),
      ),
    },
    'One of the lists, by `by`; most expensive first.',
  ),
);
