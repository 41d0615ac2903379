import test from 'ava';
import { createPricing } from '../../src/cost/pricing.ts';
import { usageFromWire } from '../../src/domain/usage.ts';
import { presentJob } from '../../src/present/job.ts';
import { testConfig } from '../support/config.ts';
import { request, setup } from '../support/coordinator.ts';
import { FakeClock } from '../support/fakeClock.ts';

const price = {
  inputPerMillion: 1_000,
  outputPerMillion: 2_000,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  free: false,
};
const config = { pricing: { echo: { gold: price } }, cost: { tokensMaxPerAttempt: 1_000 } };

test('usage beyond the bound is kept as it was told, costs an unknown amount, and is in no sum', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t, config);
  const hand = await worker({ concurrency: 9 });
  const told = [
    { input_tokens: 1e10, output_tokens: 1 },
    { input_tokens: 1, output_tokens: 1_001 },
    { input_tokens: 1, output_tokens: 1, cached_input_tokens: 2_000 },
    { input_tokens: 400, output_tokens: 600 },
  ];
  for (const [index, usage] of told.entries()) {
    const { job } = await coordinator.dispatch(request({ model: 'gold' }));
    await hand.complete(await hand.job(index + 1), 'x', usageFromWire(usage));
    const view = presentJob({ job: await jobAs(job.id, 'completed'), waiting: null, heartbeatAt: null });
    const isRight = index === 3;
    t.is(view.cost_status, isRight ? 'known' : 'unknown');
    t.is(view.attempts[0]?.usage_implausible, isRight ? undefined : true);
    t.like(view.attempts[0]?.usage, usage);
    t.like(view.result?.usage, usage);
  }
  const { total } = await coordinator.costBreakdown('model', 'day', 'UTC');
  t.like(total, { attempts: 4, unknown: 3, inputTokens: 400, outputTokens: 600 });
  t.is(total.nanoDollars, (400 * 1_000 + 600 * 2_000) * 1_000);
});

test('usage that comes late and is implausible is in no sum either', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t, config);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request({ model: 'gold' }));
  const { job_id: jobId, lease } = await hand.job();
  await coordinator.cancel(job.id);
  const usage = usageFromWire({ input_tokens: 1e10, output_tokens: 1e10 });
  await hand.connection.conclude({ jobId, lease }, { type: 'aborted', usage });
  const cancelled = await jobAs(job.id, 'cancelled');
  t.like(cancelled.life.attempts[0], { usage: { isImplausible: true }, cost: { status: 'unknown' } });
  const { total } = await coordinator.costBreakdown('model', 'day', 'UTC');
  t.like(total, { unknown: 1, inputTokens: 0, outputTokens: 0, nanoDollars: 0 });
});

test('what is free costs nothing, whatever it is said to have used', (t) => {
  const pricing = createPricing(() => testConfig(), new FakeClock());
  const usage = { ...usageFromWire({ input_tokens: 1e10, output_tokens: 1 }), isImplausible: true as const };
  t.like(pricing.costOf({ provider: 'echo', model: null, usage, at: 0 }), {
    status: 'known',
    nanoDollars: 0,
  });
});
