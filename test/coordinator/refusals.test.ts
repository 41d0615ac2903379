import test from 'ava';
import type { ErrorClass } from '../../src/domain/failure.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { type HandWorker, request, setup } from '../support/coordinator.ts';

/** The provider says to the `nth` job of a worker that its key is no good. */
async function refuse(hand: HandWorker, nth: number, errorClass: ErrorClass = 'auth'): Promise<void> {
  const { job_id: jobId, lease } = await hand.job(nth);
  const failure = { class: errorClass, message: 'bad key', status: 401, code: null, retryAfterMs: null };
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
}

/** Turns in which a job could be handed out. */
async function aWhile(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
}

for (const errorClass of ['auth', 'quota_exhausted'] as const) {
  test(`a worker whose key is refused (${errorClass}) fails one job and not the queue`, async (t) => {
    const { coordinator, worker, clock } = await setup(t);
    const bad = await worker({ name: 'bad' });
    await coordinator.dispatch(request());
    await refuse(bad, 1, errorClass);
    const good = await worker({ name: 'good', concurrency: 2 });
    let last = '';
    for (let n = 0; n < 6; n += 1) last = (await coordinator.dispatch(request())).job.id;
    for (let nth = 1; nth <= 3; nth += 1) await good.complete(await good.job(nth));
    await good.job(5);
    await aWhile();
    t.is(bad.jobs.length, 1);
    t.like(await coordinator.worker(bad.id), {
      refusals: [
        { provider: 'echo', at: clock.now(), until: clock.now() + 60_000, failure: { class: errorClass } },
      ],
    });
    t.is(coordinator.providers().find(({ name }) => name === 'echo')?.fleet.freeSlots, 0);
    const said = errorClass === 'auth' ? '401 Unauthorized: Authentication failed: bad key' : 'bad key';
    t.like((await coordinator.job(last)).waiting, {
      reason: 'workers_busy',
      detail: `Every slot of the workers that fit is taken: good. Set aside: bad has a key that echo refuses: ${said} (${errorClass})`,
    });
  });
}

test('one whose key is refused gets jobs when no other takes them, and a success makes it one of all again', async (t) => {
  const { coordinator, worker, jobAs } = await setup(t);
  const bad = await worker({ name: 'bad' });
  const good = await worker({ name: 'good' });
  await coordinator.setWorkerPaused(good.id, true);
  const first = await coordinator.dispatch(request());
  await refuse(bad, 1);
  await jobAs(first.job.id, 'failed');
  await coordinator.setWorkerPaused(good.id, false);
  await coordinator.dispatch(request());
  await good.job(1);
  await coordinator.dispatch(request());
  await aWhile();
  t.is(bad.jobs.length, 1, 'it waits for the good one');
  await coordinator.setWorkerPaused(good.id, true);
  await bad.complete(await bad.job(2));
  t.deepEqual((await coordinator.worker(bad.id)).refusals, []);
  await coordinator.setWorkerPaused(good.id, false);
  await coordinator.dispatch(request());
  await bad.job(3);
});

test('a worker without slots is no other worker, and a refusal is that of one provider', async (t) => {
  const { coordinator, worker } = await setup(t);
  const bad = await worker({ name: 'bad', providers: ['echo', 'ollama'], concurrency: 3 });
  await coordinator.dispatch(request());
  await refuse(bad, 1);
  await worker({ name: 'good', providers: ['echo', 'ollama'], concurrency: 0 });
  await coordinator.dispatch(request({ provider: 'ollama' }));
  t.is((await bad.job(2)).provider, 'ollama');
});

test('a new connection and an operator’s resume end a refusal', async (t) => {
  const { coordinator, worker } = await setup(t);
  const bad = await worker({ name: 'bad', concurrency: 4 });
  await coordinator.dispatch(request());
  await refuse(bad, 1);
  const good = await worker({ name: 'good' });
  await coordinator.dispatch(request());
  await good.job(1);
  await coordinator.dispatch(request());
  await aWhile();
  t.is(bad.jobs.length, 1);
  await coordinator.setWorkerPaused(bad.id, false);
  await bad.job(2);
  t.deepEqual((await coordinator.worker(bad.id)).refusals, []);
  await refuse(bad, 2);
  t.is((await coordinator.worker(bad.id)).refusals.length, 1);
  bad.drop();
  const again = await worker({ name: 'bad', concurrency: 4 });
  t.deepEqual((await coordinator.worker(again.id)).refusals, []);
  await coordinator.dispatch(request());
  await again.job(1);
});

test('after a minute one job shows whether the key is mended, then after two, four and at most sixty', async (t) => {
  const { coordinator, worker, clock } = await setup(t, {
    jobs: { timeoutSeconds: 0, reapStaleAfterSeconds: 1e6 },
  });
  const bad = await worker({ name: 'bad', concurrency: 2 });
  await coordinator.dispatch(request());
  await coordinator.dispatch(request());
  await bad.job(2);
  await refuse(bad, 1);
  // Another one that was under way says nothing new.
  await refuse(bad, 2);
  const good = await worker({ name: 'good' });
  await coordinator.dispatch(request());
  await good.job(1);
  for (const [index, minutes] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
    await coordinator.dispatch(request());
    for (let ms = minutes * 60_000 - 1; ms > 0; ms -= 5_000) {
      clock.advance(Math.min(ms, 5_000));
      for (const hand of [good, bad]) hand.connection.heard();
    }
    await aWhile();
    t.is(bad.jobs.length, 2 + index, `${minutes} minutes`);
    clock.advance(1);
    await refuse(bad, 3 + index);
  }
});
