import test from 'ava';
import { workersMax } from '../../src/coordinator/duties/workerRetention.ts';
import { nextTurn } from '../../src/lib/nextTurn.ts';
import { workerLife } from '../store/jobs.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';

const hour = 3_600_000;
const day = 24 * hour;
/** Nobody beats in these tests, and nobody is missed; a job waits for its worker for ever. */
const jobs = { heartbeatIntervalSeconds: 1_000 * 86_400, reapStaleAfterSeconds: 0, timeoutSeconds: 0 };

async function names({ coordinator }: Bundle): Promise<string[]> {
  return (await coordinator.workers()).map(({ life }) => life.name);
}

/** Turn the clock on by an hour, and wait until what a look at the workers commits has been committed. */
async function look({ clock, store }: Bundle): Promise<void> {
  clock.advance(hour);
  for (let commits = 0; commits < 5; commits += 1) await store.commit([{ kind: 'keyRemoved', id: 'nobody' }]);
}

test('a worker that was not heard for 30 days is forgotten, with all that the store had of it', async (t) => {
  const bundle = await setup(t, { jobs });
  const { coordinator, clock } = bundle;
  const gone = await bundle.worker({ name: 'gone' });
  const paused = await bundle.worker({ name: 'paused' });
  const resized = await bundle.worker({ name: 'resized' });
  const holding = await bundle.worker({ name: 'holding', providers: ['local'] });
  await bundle.worker({ name: 'connected' });
  await coordinator.setWorkerPaused(paused.id, true);
  await coordinator.setWorkerConcurrency(resized.id, 7);
  const { job } = await coordinator.dispatch(request({ provider: 'local' }));
  await holding.job();
  for (const worker of [gone, paused, resized, holding]) worker.drop();
  await bundle.jobWhen(job.id, ({ state }) => state === 'running.stuck');
  clock.jump(30 * day - hour);
  await look(bundle);
  t.is((await names(bundle)).length, 5);
  await look(bundle);
  const left = ['connected', 'holding', 'paused', 'resized'];
  t.deepEqual(await names(bundle), left);
  t.deepEqual((await bundle.store.workers()).map(({ life }) => life.name).sort(), left);
  const again = await bundle.worker({ name: 'gone' });
  t.not(again.id, gone.id);
});

test('a worker that was connected for long is not taken for one that is gone after a restart', async (t) => {
  const first = await setup(t, { jobs });
  const worker = await first.worker({ name: 'steady' });
  for (let days = 0; days < 40; days += 20) {
    first.clock.jump(20 * day);
    first.clock.advance(1_000);
    worker.connection.heard();
    await look(first);
  }
  const second = await first.restart();
  await look(second);
  t.deepEqual(await names(second), ['steady']);
});

test(`of more than ${workersMax} workers those that were heard longest ago are forgotten`, async (t) => {
  const first = await setup(t, { jobs });
  await first.store.commit(
    Array.from({ length: workersMax }, (_, n) => ({
      kind: 'worker' as const,
      life: workerLife(`w-${n}`, { lastHeartbeatAt: first.clock.now() - hour + n, paused: n === 0 }),
    })),
  );
  const second = await first.restart();
  t.is((await names(second)).length, workersMax);
  for (const name of ['new-1', 'new-2']) (await second.worker({ name })).drop();
  while ((await names(second)).length > workersMax) await nextTurn();
  const known = new Set(await names(second));
  t.deepEqual(
    ['w-0', 'w-1', 'w-2', 'w-3', 'new-1', 'new-2'].map((name) => known.has(name)),
    [true, false, false, true, true, true],
  );
});

test('a key that makes names without end pushes out its own, and no name of another key', async (t) => {
  const first = await setup(t, { jobs });
  const now = first.clock.now();
  const honest = { keyId: 'honest', name: null };
  const greedy = { keyId: 'greedy', name: null };
  await first.store.commit([
    { kind: 'worker', life: workerLife('box', { lastHeartbeatAt: now - 2 * hour, owner: honest }) },
    ...Array.from({ length: workersMax - 1 }, (_, n) => ({
      kind: 'worker' as const,
      life: workerLife(`w-${n}`, { lastHeartbeatAt: now - hour + n, owner: greedy }),
    })),
  ]);
  const second = await first.restart();
  const key = { ...greedy, bounds: null };
  for (const name of ['new-1', 'new-2']) (await second.worker({ name }, [], key)).drop();
  while ((await names(second)).length > workersMax) await nextTurn();
  const known = new Set(await names(second));
  t.deepEqual(
    ['box', 'w-0', 'w-1', 'w-2', 'new-1', 'new-2'].map((name) => known.has(name)),
    [true, false, false, true, true, true],
  );
});
