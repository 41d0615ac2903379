import test from 'ava';
import type { ReportedFailure } from '../../src/domain/failure.ts';
import type { Assignment } from '../../src/domain/workerProtocol.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { queryOf } from '../store/jobs.ts';
import { request, setup } from '../support/coordinator.ts';
import { textParts } from '../support/textParts.ts';

/** Settings of a provider whose limits are waited out. */
function limiting({ maxConcurrent, maxRetries }: { maxConcurrent: number | null; maxRetries: number }) {
  const rateLimit = { maxConcurrent, retryAfterSeconds: 1, maxRetries, retryAfterMaxSeconds: 300 };
  const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
  return { providers: { echo: { rateLimit, breaker, model: null, baseUrl: null, apiKeyEnv: null } } };
}

/** A provider's 429. */
function tooMany(retryAfterMs: number | null): ReportedFailure {
  return { class: 'rate_limited', message: 'slow down', status: 429, code: null, retryAfterMs };
}

test('higher priority goes first, equal priority in order of arrival', async (t) => {
  const { coordinator, worker } = await setup(t);
  const ids: Record<string, string> = {};
  for (const [name, priority] of [
    ['a', 'normal'],
    ['b', 'low'],
    ['c', 'critical'],
    ['d', 'normal'],
    ['e', 'high'],
  ] as const) {
    ids[(await coordinator.dispatch(request({ priority }))).job.id] = name;
  }
  const hand = await worker();
  const order: (string | undefined)[] = [];
  for (let count = 1; count <= 5; count += 1) {
    const job = await hand.job(count);
    order.push(ids[job.job_id]);
    await hand.complete(job);
  }
  t.deepEqual(order, ['c', 'e', 'a', 'd', 'b']);
});

test('a low job that has waited longer than its disadvantage goes before a fresh normal one', async (t) => {
  const { coordinator, worker, clock } = await setup(t);
  const old = (await coordinator.dispatch(request({ priority: 'low' }))).job;
  clock.advance(3_601_000);
  await coordinator.dispatch(request());
  const hand = await worker();
  t.is((await hand.job()).job_id, old.id);
});

test('a worker never holds more than its slots, and 0 takes nothing', async (t) => {
  const { coordinator, worker } = await setup(t);
  const idle = await worker({ concurrency: 0 });
  const jobs = await Promise.all(Array.from({ length: 5 }, () => coordinator.dispatch(request())));
  t.is((await coordinator.job(jobs[0]?.job.id ?? '')).waiting?.reason, 'concurrency_zero');
  const hand = await worker({ concurrency: 2 });
  const first = await hand.job();
  await hand.job(2);
  t.is(hand.jobs.length, 2);
  await hand.complete(first);
  await hand.job(3);
  t.is(hand.jobs.length, 3);
  t.is(idle.jobs.length, 0);
});

test('max_concurrent holds over all workers of a provider, and a waiting job says so', async (t) => {
  const { coordinator, worker } = await setup(t, limiting({ maxConcurrent: 2, maxRetries: 2 }));
  const workers = [await worker({ concurrency: 5 }), await worker({ concurrency: 5 })];
  const jobs = await Promise.all(Array.from({ length: 6 }, () => coordinator.dispatch(request())));
  const running = () => workers.reduce((sum, { jobs: held }) => sum + held.length, 0);
  await Promise.race(workers.map((one) => one.until(() => running() >= 2)));
  t.is(running(), 2);
  t.is((await coordinator.job(jobs[5]?.job.id ?? '')).waiting?.reason, 'provider_full');
  for (let done = 0; done < 6; done += 1) {
    const holder = workers.find(({ jobs: held }) => held.length > 0);
    const job = holder?.jobs.shift();
    if (holder === undefined || job === undefined) break;
    await holder.complete(job);
    if (done < 4) await Promise.race(workers.map((one) => one.until(() => running() >= 2)));
    t.true(running() <= 2);
  }
  t.is((await coordinator.jobs(queryOf({ statuses: ['completed'] }))).total, 6);
});

test('when a worker advertises the model only such workers take the job; when none does, any may', async (t) => {
  const { coordinator, worker } = await setup(t);
  const plain = await worker({ models: { echo: ['other'] } });
  const knowing = await worker({ models: { echo: ['wanted'] } });
  const wanted = (await coordinator.dispatch(request({ model: 'wanted' }))).job;
  t.is((await knowing.job()).job_id, wanted.id);
  const unknown = (await coordinator.dispatch(request({ model: 'nobody has it' }))).job;
  t.is((await plain.job()).job_id, unknown.id);
});

test('a probe that never comes back holds the others up until its lease is taken back, or its worker has stopped it', async (t) => {
  const { coordinator, worker, clock } = await setup(t, limiting({ maxConcurrent: null, maxRetries: 3 }));
  const first = await worker({ name: 'first', concurrency: 3 });
  const { job: limited } = await coordinator.dispatch(request());
  const { lease } = await first.job();
  const failure = tooMany(2_000);
  await first.connection.conclude({ jobId: limited.id, lease }, { type: 'fail', failure, usage: null });
  const others = [await coordinator.dispatch(request()), await coordinator.dispatch(request())];
  clock.advance(3_000);
  first.connection.heard();
  t.is((await first.job(2)).job_id, limited.id);
  t.is(coordinator.providers().find(({ name }) => name === 'echo')?.status, 'probing');
  const second = await worker({ name: 'second', concurrency: 3 });
  first.drop();
  const wait = (ms: number) => {
    for (let done = 0; done < ms; done += 5_000) {
      clock.advance(5_000);
      second.connection.heard();
    }
  };
  wait(115_000);
  t.is(second.jobs.length, 0, 'one at a time');
  wait(30_000);
  const probe = await second.job();
  t.is(second.jobs.length, 1);
  await coordinator.cancel(probe.job_id);
  await second.connection.conclude(
    { jobId: probe.job_id, lease: probe.lease },
    { type: 'aborted', usage: null },
  );
  const next = await second.job(2);
  t.is(second.jobs.length, 2);
  await second.complete(next);
  await second.job(3);
  const ids = new Set([limited.id, ...others.map(({ job }) => job.id)]);
  t.deepEqual(new Set(second.jobs.map(({ job_id }) => job_id)), ids);
});

test('an attempt from before that ends without a word sends no second probe', async (t) => {
  const { coordinator, worker, clock } = await setup(t, limiting({ maxConcurrent: null, maxRetries: 5 }));
  const hand = await worker({ concurrency: 6 });
  for (let count = 0; count < 3; count += 1) await coordinator.dispatch(request());
  const [before, released] = [await hand.job(1), await hand.job(2)];
  const { job_id: jobId, lease } = await hand.job(3);
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure: tooMany(2_000), usage: null });
  for (let count = 0; count < 3; count += 1) await coordinator.dispatch(request());
  clock.advance(2_500);
  hand.connection.heard();
  const probe = await hand.job(4);
  await coordinator.cancel(before.job_id);
  await hand.connection.conclude(
    { jobId: before.job_id, lease: before.lease },
    { type: 'aborted', usage: null },
  );
  await hand.connection.conclude({ jobId: released.job_id, lease: released.lease }, { type: 'release' });
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  t.is(hand.jobs.length, 4, 'the probe is still the only one');
  await hand.complete(probe);
  await hand.job(5);
});

test('a 429 with rate-limit handling waits for Retry-After, keeps its place and burns no attempt of the chain', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(
    t,
    limiting({ maxConcurrent: null, maxRetries: 1 }),
  );
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const limited = tooMany(2_000);
  const fail = async (count: number) => {
    const { job_id: jobId, lease } = await hand.job(count);
    await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure: limited, usage: null });
  };
  await fail(1);
  const waiting = await coordinator.job(job.id);
  t.is(waiting.job.state, 'pending.ready');
  t.is(waiting.waiting?.reason, 'provider_limited');
  t.true((waiting.waiting?.until ?? 0) >= clock.now() + 2_000);
  clock.advance(1_999);
  hand.connection.heard();
  t.is(hand.jobs.length, 1);
  clock.advance(300);
  await fail(2);
  const failed = await jobAs(job.id, 'failed');
  t.regex(failed.life.error?.message ?? '', /429 Too Many Requests: Rate limit exceeded/);
  t.deepEqual(
    failed.life.attempts.map(({ outcome }) => outcome),
    ['rate_limited', 'rate_limited'],
  );
});

test('the first output of a probe opens the provider; that of an attempt from before says nothing', async (t) => {
  const { coordinator, worker, clock } = await setup(t, limiting({ maxConcurrent: null, maxRetries: 5 }));
  const hand = await worker({ concurrency: 4 });
  const chunk = ({ job_id: jobId, lease }: Assignment) =>
    hand.connection.chunk({ jobId, lease }, 1, textParts('He'));
  const status = () => coordinator.providers().find(({ name }) => name === 'echo')?.status;
  for (let count = 0; count < 2; count += 1) await coordinator.dispatch(request());
  const before = await hand.job(1);
  const { job_id: jobId, lease } = await hand.job(2);
  const failure = tooMany(2_000);
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  for (let count = 0; count < 2; count += 1) await coordinator.dispatch(request());
  clock.advance(2_500);
  const probe = await hand.job(3);
  t.is(status(), 'probing');
  chunk(before);
  t.is(status(), 'probing');
  t.is(hand.jobs.length, 3);
  chunk(probe);
  t.is(status(), 'available');
  await hand.job(4);
});

test('a provider that is back gets one request more with each that gets through, as its jobs say, and after a reset all', async (t) => {
  const { coordinator, worker, clock } = await setup(t, limiting({ maxConcurrent: null, maxRetries: 5 }));
  const hand = await worker({ concurrency: 20 });
  await coordinator.dispatch(request());
  const { job_id: jobId, lease } = await hand.job(1);
  const failure = tooMany(2_000);
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  let last = '';
  for (let count = 0; count < 12; count += 1) last = (await coordinator.dispatch(request())).job.id;
  clock.advance(2_500);
  /** So many, and no more in all the time that a commit takes. */
  const isGiven = async (count: number) => {
    await hand.job(count);
    for (let turn = 0; turn < 200; turn += 1) await nextTurn();
    t.is(hand.jobs.length, count);
  };
  await isGiven(2);
  await hand.complete(await hand.job(2));
  await isGiven(4);
  t.like((await coordinator.job(last)).waiting, {
    reason: 'provider_full',
    detail: 'echo is just back: it has 2 requests under way, and gets more with each one that gets through',
  });
  const chunk = ({ job_id, lease: of }: Assignment) =>
    hand.connection.chunk({ jobId: job_id, lease: of }, 1, textParts('He'));
  chunk(await hand.job(3));
  chunk(await hand.job(3));
  await isGiven(5);
  await hand.complete(await hand.job(3));
  await isGiven(7);
  coordinator.resetProvider('echo');
  await isGiven(14);
});

test('at a tight limit no job of many runs out of retries', async (t) => {
  const { coordinator, worker, clock, jobAs } = await setup(
    t,
    limiting({ maxConcurrent: null, maxRetries: 5 }),
  );
  const hand = await worker({ concurrency: 50 });
  const ids: string[] = [];
  for (let count = 0; count < 100; count += 1) ids.push((await coordinator.dispatch(request())).job.id);
  let [answered, limited, seen] = [0, 0, 0];
  for (let left = 5; answered < ids.length; ) {
    if (seen === hand.jobs.length) {
      clock.advance(1_200);
      hand.connection.heard();
      left = 5;
    }
    const job = await hand.job(seen + 1);
    seen += 1;
    if (left > 0) {
      left -= 1;
      answered += 1;
      await hand.complete(job);
    } else {
      limited += 1;
      const ref = { jobId: job.job_id, lease: job.lease };
      await hand.connection.conclude(ref, { type: 'fail', failure: tooMany(1_000), usage: null });
    }
  }
  for (const id of ids) await jobAs(id, 'completed');
  t.true(limited < 2 * answered, `${limited} of ${limited + answered} requests were limited`);
});

test('a probe after a limit that fails for another reason opens no breaker: the next job is the probe', async (t) => {
  const { coordinator, worker, clock } = await setup(t, limiting({ maxConcurrent: null, maxRetries: 5 }));
  const hand = await worker({ concurrency: 4 });
  const status = () => coordinator.providers().find(({ name }) => name === 'echo')?.status;
  const fail = async (count: number, failure: ReportedFailure) => {
    const { job_id: jobId, lease } = await hand.job(count);
    await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  };
  await coordinator.dispatch(request());
  await fail(1, tooMany(2_000));
  const next = (await coordinator.dispatch(request())).job;
  clock.advance(2_500);
  await fail(2, { ...tooMany(null), class: 'server_error', status: 500 });
  const probe = await hand.job(3);
  t.is(probe.job_id, next.id);
  t.is(status(), 'probing');
  await hand.complete(probe);
  t.is(status(), 'available');
});

test('a provider whose breaker opened is tried with one job, and the others say so, with and without rate-limit handling', async (t) => {
  for (const settings of [{}, limiting({ maxConcurrent: null, maxRetries: 5 })]) {
    const { coordinator, worker, clock } = await setup(t, { ...settings, jobs: { maxAttempts: 1 } });
    const hand = await worker({ concurrency: 20 });
    const explained = async (id: string) => (await coordinator.job(id)).waiting;
    const stoppedBy = 'upstream is down, says number 10 (server_error)';
    for (let count = 1; count <= 10; count += 1) {
      const { job } = await coordinator.dispatch(request());
      const { lease } = await hand.job(count);
      const message = `upstream is down,\n  says number ${count}`;
      const failure = { ...tooMany(null), class: 'server_error', status: 500, message } as const;
      await hand.connection.conclude({ jobId: job.id, lease }, { type: 'fail', failure, usage: null });
    }
    const first = (await coordinator.dispatch(request())).job;
    const other = (await coordinator.dispatch(request())).job;
    t.like(await explained(other.id), {
      reason: 'provider_open',
      detail: `Too many attempts at echo failed; it is tried again soon. What stopped it: ${stoppedBy}`,
      until: clock.now() + 30_000,
    });
    for (let second = 0; second <= 30; second += 1) {
      clock.advance(1_000);
      hand.connection.heard();
    }
    t.is((await hand.job(11)).job_id, first.id);
    t.like(await explained(other.id), {
      reason: 'provider_open',
      detail: `One job is sent to echo to see whether it is back; the others wait for its first output, or its end. What stopped it: ${stoppedBy}`,
      until: null,
    });
    t.is(hand.jobs.length, 11);
    await hand.complete(await hand.job(11));
    t.is((await hand.job(12)).job_id, other.id);
  }
});

test('handling for all providers makes a 429 of any of them a wait, but for one with its own', async (t) => {
  const rateLimit = { maxConcurrent: null, retryAfterSeconds: 5, maxRetries: 1, retryAfterMaxSeconds: 300 };
  const own = limiting({ maxConcurrent: null, maxRetries: 0 }).providers.echo;
  const { coordinator, worker, jobAs, clock } = await setup(t, {
    providerDefaults: { rateLimit },
    ...(own === undefined ? {} : { providers: { own } }),
  });
  const hand = await worker({ providers: ['any', 'own'], concurrency: 2 });
  const limitAt = async (provider: string, nth: number) => {
    const { job } = await coordinator.dispatch(request({ provider }));
    const { lease } = await hand.job(nth);
    const failure = tooMany(null);
    await hand.connection.conclude({ jobId: job.id, lease }, { type: 'fail', failure, usage: null });
    return job.id;
  };
  const waits = await limitAt('any', 1);
  const { waiting } = await coordinator.job(waits);
  t.is(waiting?.reason, 'provider_limited');
  t.true((waiting?.until ?? 0) >= clock.now() + 5_000);
  t.is(coordinator.providers().find(({ name }) => name === 'any')?.rateLimit?.maxRetries, 1);
  await jobAs(await limitAt('own', 2), 'failed');
});

test('without rate-limit handling a 429 fails the job in the spec’s words, and does not stop the others', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const { lease } = await hand.job();
  const failure = tooMany(null);
  await hand.connection.conclude({ jobId: job.id, lease }, { type: 'fail', failure, usage: null });
  const message = (await jobAs(job.id, 'failed')).life.error?.message ?? '';
  t.regex(message, /^429 Too Many Requests/);
  t.regex(message, /providers\.echo\.rate_limit, or providers\.defaults\.rate_limit/);
  const next = (await coordinator.dispatch(request())).job;
  t.is((await hand.job(2)).job_id, next.id);
});

test('a job without a worker says how to start one, in words that are safe in a shell', async (t) => {
  const { coordinator } = await setup(t);
  const detailOf = async (provider: string) =>
    (await coordinator.dispatch(request({ provider }))).waiting?.detail;
  t.regex((await detailOf('llama-3.cpp')) ?? '', /; start one with: svc worker --provider llama-3\.cpp$/);
  t.is(await detailOf('x; rm -r y'), 'No connected worker serves the provider x; rm -r y');
});

test('a waiting job says its position in the lane', async (t) => {
  const { coordinator } = await setup(t);
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await coordinator.dispatch(request())).job.id);
  const positions = await Promise.all(ids.map(async (id) => (await coordinator.job(id)).waiting?.position));
  t.deepEqual(positions, [1, 2, 3]);
});

test('a job that comes back to the queue while other requests for it wait is handed out all the same', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const hand = await worker();
  const { job } = await coordinator.dispatch(request());
  const { job_id: jobId, lease } = await hand.job();
  const failure = {
    class: 'invalid_request' as const,
    message: 'no',
    status: null,
    code: null,
    retryAfterMs: null,
  };
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  await jobAs(job.id, 'failed');
  // One is taken; the others are refused one after the other, and each time nothing changes.
  const retries = await Promise.allSettled(Array.from({ length: 50 }, () => coordinator.retry(job.id)));
  t.is(retries.filter(({ status }) => status === 'fulfilled').length, 1);
  await jobAs(job.id, 'running');
  await hand.complete(await hand.job(2));
  await jobAs(job.id, 'completed');
});
