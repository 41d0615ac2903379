import test from 'ava';
import type { ProviderConfig } from '../../src/config/config.ts';
import { request, setup } from '../support/coordinator.ts';

const limitedTo = (maxConcurrent: number): ProviderConfig => ({
  rateLimit: { maxConcurrent, retryAfterSeconds: 1, maxRetries: 1, retryAfterMaxSeconds: 1 },
  model: null,
  baseUrl: null,
  apiKeyEnv: null,
  breaker: { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 },
});

test('a ceiling that was raised lets waiting jobs start, without anything else happening', async (t) => {
  const { coordinator, config, worker } = await setup(t, { providers: { echo: limitedTo(1) } });
  const hand = await worker({ concurrency: 5 });
  for (let count = 0; count < 3; count++) await coordinator.dispatch(request());
  await hand.job(1);
  t.is(hand.jobs.length, 1);
  config.providers = { echo: limitedTo(3) };
  coordinator.configChanged();
  await hand.job(3);
  t.is(hand.jobs.length, 3);
});

test('a shorter time to reap holds for leases that are running, but for workers that were asked for fewer heartbeats', async (t) => {
  const { coordinator, config, clock, worker, jobWhen } = await setup(t, {
    jobs: { reapStaleAfterSeconds: 0, heartbeatIntervalSeconds: 20 },
  });
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  await hand.job();
  clock.advance(45_000);
  config.jobs = { ...config.jobs, reapStaleAfterSeconds: 30 };
  coordinator.configChanged();
  clock.advance(1);
  t.is((await coordinator.job(job.id)).job.state, 'running.active', 'its next beat may come after 20 s');
  clock.advance(16_000);
  const reaped = await jobWhen(job.id, ({ life }) => life.reapCount === 1);
  t.is(reaped.life.reapCount, 1);
});
