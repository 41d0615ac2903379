import { providerStatuses } from '../../../domain/states.ts';
import type { WireProvider, WireProviderList } from '../../../domain/wire/provider.ts';
import { failureShape, timeShape } from '../../shape/common.ts';
import {
  count,
  flag,
  integer,
  list,
  named,
  nullable,
  number,
  object,
  oneOf,
  text,
} from '../../shape/shape.ts';

export const providerShape = named(
  'Provider',
  object<WireProvider>({
    name: text(),
    configured: flag('Whether the configuration names it.'),
    status: oneOf(
      providerStatuses,
      '`available`: accepts requests. `limited`: returned 429, nothing is sent until `until`. `open`: too many of its attempts failed, nothing is sent until `until`. `probing`: one job is sent as a probe.',
    ),
    until: nullable(timeShape),
    changed_at: nullable(timeShape),
    running: count('Running attempts.'),
    max_concurrent: nullable(
      integer(),
      'Maximum number of attempts at a time, over all workers; null for no limit.',
    ),
    latency_ms: nullable(integer(), 'Mean of its recent good attempts; null before the first.'),
    model: nullable(text(), 'The configured one.'),
    rate_limit: nullable(
      object({
        max_concurrent: nullable(integer()),
        retry_after_seconds: number(),
        max_retries: integer(),
        retry_after_max_seconds: number(),
      }),
      'As configured; null if a 429 fails the job.',
    ),
    limits_in_row: count('429 answers since the last success.'),
    breaker: object(
      {
        ratio: number(),
        minimum: integer(),
        window_seconds: number(),
        open_seconds: number(),
        attempts: count(),
        failed: count(),
        opens_in_row: count(),
        opened_by: nullable(
          failureShape,
          'The failure with which it opened last; null when it has not, or something has succeeded since.',
        ),
      },
      'It opens when `failed / attempts` reaches `ratio` with at least `minimum` attempts in the window.',
    ),
    workers: count('Connected ones that serve it.'),
    slots: count('Their concurrency, added up.'),
    free_slots: count('Slots that a job could get now.'),
    models: list(text(), 'The models that they offer.'),
  }),
);

export const providerListShape = named(
  'ProviderList',
  object<WireProviderList>({ providers: list(providerShape), total: count() }),
);
