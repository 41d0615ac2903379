import test from 'ava';
import { request, setup } from '../support/coordinator.ts';

const routing = {
  strategy: 'fallback',
  chain: ['first', 'second'],
  rules: [],
  fallbackOnTimeout: true,
} as const;
const routed = () => request({ provider: null });
const limited = {
  class: 'rate_limited',
  message: 'slow',
  status: 429,
  code: null,
  retryAfterMs: 60_000,
} as const;

function configured() {
  return { routing: { ...routing, chain: [...routing.chain], rules: [] } };
}

test('fallback takes the first member that has a worker, and a job that waits goes to whichever comes', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t, configured());
  const { job, waiting } = await coordinator.dispatch(routed());
  t.is(waiting?.reason, 'no_worker');
  const second = await worker({ providers: ['second'] });
  t.is((await second.job()).provider, 'second');
  await second.complete(await second.job());
  const done = await jobAs(job.id, 'completed');
  t.like(done.life.route[0], { provider: 'first', outcome: 'skipped', why: 'no connected worker fits' });
  t.like(done.life.route[1], { provider: 'second', outcome: 'chosen' });
});

test('when an attempt fails the job goes on to the next member, and the limited one is passed over', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t, configured());
  const first = await worker({ providers: ['first'] });
  const second = await worker({ providers: ['second'], concurrency: 2 });
  const { job } = await coordinator.dispatch(routed());
  const { lease } = await first.job();
  await first.connection.conclude({ jobId: job.id, lease }, { type: 'fail', failure: limited, usage: null });
  await second.complete(await second.job());
  const done = await jobAs(job.id, 'completed');
  t.is(done.life.result?.provider, 'second');
  t.deepEqual(
    done.life.route.map(({ provider, outcome }) => `${provider} ${outcome}`),
    ['first chosen', 'first failed', 'second chosen'],
  );
  const next = (await coordinator.dispatch(routed())).job;
  t.like(await second.job(2), { job_id: next.id, provider: 'second' });
});

test('a busy first member is waited for; when every member is limited the job waits and does not fail', async (t) => {
  const rateLimit = { maxConcurrent: null, retryAfterSeconds: 1, maxRetries: 3, retryAfterMaxSeconds: 300 };
  const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
  const provider = { rateLimit, breaker, model: null, baseUrl: null, apiKeyEnv: null };
  const { coordinator, worker, clock } = await setup(t, {
    ...configured(),
    providers: { first: provider, second: provider },
  });
  const both = await worker({ providers: ['first', 'second'] });
  const { job } = await coordinator.dispatch(routed());
  const waits = (await coordinator.dispatch(routed())).job;
  await both.job();
  t.is((await coordinator.job(waits.id)).waiting?.reason, 'workers_busy');
  await coordinator.cancel(waits.id);
  for (const count of [1, 2]) {
    const { lease, provider: at } = await both.job(count);
    t.is(at, count === 1 ? 'first' : 'second');
    const retryAfterMs = count === 1 ? 60_000 : 30_000;
    const failure = { ...limited, retryAfterMs };
    await both.connection.conclude({ jobId: job.id, lease }, { type: 'fail', failure, usage: null });
  }
  const view = await coordinator.job(job.id);
  t.is(view.job.state, 'pending.ready');
  t.is(view.waiting?.reason, 'provider_limited');
  for (let second = 0; second < 34; second += 1) {
    clock.advance(1_000);
    both.connection.heard();
  }
  t.is((await both.job(3)).provider, 'second');
});

test('a rule sends a tag to a worker by name; others never get the job', async (t) => {
  const rules = [{ match: { tags: ['private'] }, provider: 'second', worker: 'vault' }];
  const { coordinator, worker } = await setup(t, { routing: { ...configured().routing, rules } });
  const other = await worker({ providers: ['second'], concurrency: 5 });
  const { job } = await coordinator.dispatch(request({ provider: null, tags: ['private'] }));
  t.regex((await coordinator.job(job.id)).waiting?.detail ?? '', /named vault/);
  const vault = await worker({ name: 'vault', providers: ['second'] });
  t.is((await vault.job()).job_id, job.id);
  t.is(other.jobs.length, 0);
});

test('round_robin spreads jobs over the members', async (t) => {
  const { coordinator, worker } = await setup(t, {
    routing: { ...configured().routing, strategy: 'round_robin' },
  });
  const first = await worker({ providers: ['first'], concurrency: 10 });
  const second = await worker({ providers: ['second'], concurrency: 10 });
  for (let count = 0; count < 6; count += 1) await coordinator.dispatch(routed());
  await first.job(3);
  await second.job(3);
  t.deepEqual([first.jobs.length, second.jobs.length], [3, 3]);
});
