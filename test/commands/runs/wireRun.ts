import type { WireRun } from '../../../src/domain/wire/run.ts';

/** A run as the API shows it. */
export function wireRun(over: Partial<WireRun> = {}): WireRun {
  return {
    id: '01990000-0000-7000-8000-0000000000bb',
    name: 'review-nov',
    status: 'running',
    created_at: '2026-11-21T09:00:00.000Z',
    created_by: null,
    finished_at: null,
    max_cost_usd: null,
    output_schema: null,
    output_retries: null,
    max_failures: null,
    deadline: null,
    defaults: {},
    counts: { total: 10, pending: 4, running: 2, completed: 3, failed: 1, cancelled: 0 },
    cost_usd: 0,
    cost_reserved_usd: 0,
    cost_expected_usd: null,
    unknown_cost_attempts: 0,
    input_tokens: 0,
    output_tokens: 0,
    rate_per_minute: 0,
    eta: null,
    failures: [],
    paused: null,
    ...over,
  };
}
