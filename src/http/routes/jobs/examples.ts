import type { WireWholeJob } from '../../../domain/wire/job.ts';
import { reference } from '../../shape/shape.ts';

const pending: WireWholeJob = {
  id: '019aa5a2-7d80-7c3e-9b1f-3f2f6d0e5a11',
  status: 'pending',
  prompt: 'Summarise in one sentence',
  input: 'The quick brown fox …',
  messages: null,
  provider: 'openai',
  model: 'gpt-5-mini',
  priority: 'high',
  tier: null,
  run: null,
  tags: ['nightly'],
  params: {},
  metadata: {},
  created_at: '2026-11-21T09:00:00.000Z',
  created_by: { key_id: '9f2c4e6a8b0d1f35', name: 'nightly' },
  updated_at: '2026-11-21T09:00:00.000Z',
  started_at: null,
  finished_at: null,
  not_before: null,
  enqueued_at: '2026-11-21T09:00:00.000Z',
  timeout_seconds: null,
  worker_id: null,
  heartbeat_at: null,
  stuck: false,
  attempt_count: 0,
  retry_count: 0,
  reap_count: 0,
  cost_usd: null,
  cost_status: 'none',
  waiting: { reason: 'no_worker', detail: 'No connected worker serves openai', until: null, position: 1 },
  route: [],
  attempts: [],
  result: null,
  error: null,
};

const usage = {
  input_tokens: 100,
  output_tokens: 10,
  cached_input_tokens: 0,
  reasoning_tokens: 0,
  total_tokens: 110,
};

const completed: WireWholeJob = {
  ...pending,
  status: 'completed',
  updated_at: '2026-11-21T09:00:02.250Z',
  started_at: '2026-11-21T09:00:01.000Z',
  finished_at: '2026-11-21T09:00:02.250Z',
  worker_id: '019aa59f-1b2c-7d3e-8f40-6a5b4c3d2e1f',
  attempt_count: 1,
  cost_usd: 0.000045,
  cost_status: 'known',
  waiting: null,
  route: [
    {
      provider: 'openai',
      model: 'gpt-5-mini',
      worker_id: '019aa59f-1b2c-7d3e-8f40-6a5b4c3d2e1f',
      outcome: 'chosen',
      why: 'the job names it',
      at: '2026-11-21T09:00:01.000Z',
    },
  ],
  attempts: [
    {
      number: 1,
      lease: 1,
      worker_id: '019aa59f-1b2c-7d3e-8f40-6a5b4c3d2e1f',
      provider: 'openai',
      model: 'gpt-5-mini',
      started_at: '2026-11-21T09:00:01.000Z',
      finished_at: '2026-11-21T09:00:02.250Z',
      outcome: 'completed',
      error: null,
      usage,
      cost_usd: 0.000045,
      cost_status: 'known',
    },
  ],
  result: {
    output: 'A fox jumps over a dog.',
    finish_reason: 'stop',
    provider: 'openai',
    model: 'gpt-5-mini',
    worker_id: '019aa59f-1b2c-7d3e-8f40-6a5b4c3d2e1f',
    usage,
    latency_ms: 1250,
    first_token_ms: 310,
  },
};

export const pendingJobExample = reference('examples', 'PendingJob', {
  summary: 'A job that waits for a worker',
  value: pending,
});

export const completedJobExample = reference('examples', 'CompletedJob', {
  summary: 'A job with its result',
  value: completed,
});
