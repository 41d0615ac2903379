import { supervisorStatuses } from '../../../domain/states.ts';
import type { WireSpread, WireStats, WireStatsHistory, WireThroughput } from '../../../domain/wire/stats.ts';
import { queueShape } from '../../routes/queue/shape.ts';
import { storeStatusShape, timeShape } from '../../shape/common.ts';
import {
  count,
  described,
  integer,
  list,
  named,
  nullable,
  number,
  object,
  oneOf,
  record,
  text,
} from '../../shape/shape.ts';

const throughputShape = named(
  'Throughput',
  object<WireThroughput>(
    {
      created: count(),
      started: count(),
      requeued: count(),
      completed: count(),
      failed: count(),
      cancelled: count(),
    },
    'How many jobs were created, started, went back to the queue, and ended.',
  ),
);

const spreadShape = named(
  'Spread',
  object<WireSpread>(
    { count: count(), p50_ms: nullable(number({ minimum: 0 })), p95_ms: nullable(number({ minimum: 0 })) },
    'Accurate to 5 %; null if there was none.',
  ),
);

export const statsShape = named(
  'Stats',
  object<WireStats>({
    at: timeShape,
    refused_workers: list(
      object({
        address: nullable(text()),
        name: nullable(text(), 'null if it was rejected before it could send one.'),
        why: text(),
        since: timeShape,
        at: timeShape,
        tries: integer({ minimum: 1 }),
      }),
      {
        description:
          'Workers that try to connect and are rejected, most recent first. One that stops trying is dropped after three minutes.',
        maxItems: 10,
      },
    ),
    jobs: object({
      total: count(),
      by_status: record(count(), { propertyNames: { $ref: '#/components/schemas/JobStatus' } }),
      by_state: record(
        count(),
        'By state of the job machine, `pending.delayed`; see `GET /api/machines/job`.',
      ),
    }),
    pending: list(
      object({
        provider: text('Its first candidate.'),
        priority: text(),
        ready: integer({ minimum: 1 }),
        oldest_wait_ms: count(),
      }),
      'Jobs that could run now, the largest groups first. Beyond 100 groups the small ones of a priority are together as the provider `other`.',
    ),
    slots: object(
      {
        total: count(),
        taken: count(),
        workers: list(
          object({
            id: text(),
            name: text(),
            total: count(),
            taken: count(),
            last_heartbeat_at: nullable(timeShape),
          }),
        ),
        providers: list(
          object({
            provider: text(),
            total: count(),
            taken: count(),
            free: count('Also within its max_concurrent.'),
          }),
          'A worker that serves several providers counts for each.',
        ),
      },
      'Of connected workers.',
    ),
    throughput: object({ last_1m: throughputShape, last_5m: throughputShape, last_15m: throughputShape }),
    wait: described(spreadShape, 'From being ready to the first attempt, in the last five minutes.'),
    run: described(spreadShape, 'Of attempts that completed in the last five minutes.'),
    tokens_per_second: object(
      { input: number({ minimum: 0 }), output: number({ minimum: 0 }) },
      'Mean of the last minute.',
    ),
    queue: queueShape,
    coordinator: object({
      status: oneOf(supervisorStatuses),
      uptime_seconds: count(),
      store: storeStatusShape,
      journal_bytes: count('Bytes that a start would replay.'),
      event_loop_delay_p99_ms: nullable(number({ minimum: 0 })),
      rss_bytes: nullable(count()),
    }),
  }),
);

export const statsHistoryShape = named(
  'StatsHistory',
  object<WireStatsHistory>({
    step_seconds: integer({ minimum: 1 }),
    points: list(
      object({
        at: described(timeShape, 'The end of the step.'),
        throughput: described(throughputShape, 'What happened in the step.'),
        pending: count('At the end of the step.'),
        running: count('At the end of the step.'),
        wait: described(spreadShape, 'Of the five minutes up to then.'),
        run: described(spreadShape, 'Of the five minutes up to then.'),
        tokens_per_second: object(
          { input: number({ minimum: 0 }), output: number({ minimum: 0 }) },
          'Mean of the step.',
        ),
      }),
    ),
  }),
);
