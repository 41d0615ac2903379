import test from 'ava';
import type { KeyBounds } from '../../src/domain/key.ts';
import type { WorkerKey } from '../../src/domain/worker.ts';
import { type Bundle, type HandWorker, request, setup } from '../support/coordinator.ts';

const keyOf = (keyId: string, bounds: Partial<KeyBounds> | null = null): WorkerKey => ({
  keyId,
  name: `the key ${keyId}`,
  bounds:
    bounds === null
      ? null
      : { namePatterns: null, tags: null, providers: null, maxConcurrency: null, ...bounds },
});

const errorOf = ({ frames }: HandWorker) => frames.find(({ type }) => type === 'error');
const slotsOf = async ({ coordinator }: Bundle, { id }: HandWorker) =>
  (await coordinator.worker(id)).life.concurrency;
/** The last number of slots that a worker was told. */
const toldSlots = ({ frames }: HandWorker): unknown =>
  frames
    .filter((frame) => frame.type === 'welcome' || frame.type === 'settings')
    .map((frame) => frame.concurrency)
    .findLast((one) => one !== undefined);

test('a name belongs to the key that said it first, while its worker is there, away, and over a restart', async (t) => {
  let bundle = await setup(t);
  const honest = await bundle.worker({ name: 'box' }, [], keyOf('a'));
  for (const act of ['there', 'away', 'restarted'] as const) {
    if (act === 'away') honest.drop();
    if (act === 'restarted') bundle = await bundle.restart();
    const thief = await bundle.worker({ name: 'box' }, [], keyOf('b'));
    t.is(thief.closed?.code, 4409, act);
    t.like(errorOf(thief), { code: 'name_taken_by_key' });
    t.regex(JSON.stringify(errorOf(thief)), /svc workers forget/);
    t.is(thief.id, '');
  }
  const back = await bundle.worker({ name: 'box' }, [], keyOf('a'));
  t.is(back.id, honest.id);
});

test('the same instance of another key does not take over', async (t) => {
  const { worker, coordinator } = await setup(t);
  const honest = await worker({ name: 'box', instance: 'i' }, [], keyOf('a'));
  const thief = await worker({ name: 'box', instance: 'i' }, [], keyOf('b'));
  t.is(thief.closed?.code, 4409);
  t.is(honest.closed, null);
  t.like((await coordinator.worker(honest.id)).life, { owner: { keyId: 'a', name: 'the key a' } });
});

test('a worker that is forgotten frees its name, with another id', async (t) => {
  const { worker, coordinator } = await setup(t);
  const former = await worker({ name: 'box' }, [], keyOf('a'));
  former.drop();
  await coordinator.forgetWorker(former.id);
  const other = await worker({ name: 'box' }, [], keyOf('b'));
  t.is(other.closed, null);
  t.not(other.id, former.id);
});

test('a worker of an earlier version belongs to the first key that says its name', async (t) => {
  const bundle = await setup(t);
  const first = await bundle.worker({ name: 'box' }, [], keyOf('a'));
  const { owner: _, ...life } = (await bundle.coordinator.worker(first.id)).life;
  await bundle.store.commit([{ kind: 'worker', life }]);
  const { worker } = await bundle.restart();
  const adopted = await worker({ name: 'box' }, [], keyOf('b'));
  t.is(adopted.id, first.id);
  adopted.drop();
  t.is((await worker({ name: 'box' }, [], keyOf('a'))).closed?.code, 4409);
});

test('two keys that say a new name at once: one of them has it', async (t) => {
  const { worker } = await setup(t);
  const both = await Promise.all([
    worker({ name: 'box' }, [], keyOf('a')),
    worker({ name: 'box' }, [], keyOf('b')),
  ]);
  t.deepEqual(both.map(({ closed }) => closed?.code).sort(), [4409, undefined]);
});

test('the name of a worker that is part of the service goes over to its key, and keeps its id', async (t) => {
  const { worker, coordinator } = await setup(t);
  const former = await worker({ name: 'echo' }, [], keyOf('first'));
  await coordinator.handOverWorker('echo', { keyId: 'environment', name: null });
  t.is((await worker({ name: 'echo' }, [], keyOf('environment'))).closed?.code, 4409, 'it is connected');
  former.drop();
  await coordinator.handOverWorker('echo', { keyId: 'environment', name: null });
  t.is((await worker({ name: 'echo' }, [], keyOf('environment'))).id, former.id);
});

test('a worker beyond its key is refused with the field and what is allowed', async (t) => {
  const { worker, coordinator } = await setup(t);
  const key = keyOf('gpu', { namePatterns: ['gpu-*', 'box'], tags: ['eu', 'de'], providers: ['vllm'] });
  const right = { name: 'gpu-1', tags: ['eu'], providers: ['vllm'] };
  for (const [wrong, message] of [
    [{ name: 'cpu-1' }, /^name: .*"gpu-\*", "box"/],
    [{ tags: ['eu', 'us'] }, /^tags: the key allows "eu", "de", not "us"/],
    [{ providers: ['vllm', 'openai'] }, /^providers: the key allows "vllm", not "openai"/],
  ] as const) {
    const refused = await worker({ ...right, ...wrong } as typeof right, [], key);
    t.is(refused.closed?.code, 4403);
    const error = errorOf(refused);
    t.like(error, { code: 'key_not_allowed' });
    t.regex(error?.type === 'error' ? error.message : '', message);
  }
  t.deepEqual(await coordinator.workers(), []);
  const taken = await worker({ ...right, models: { vllm: ['a'], openai: ['b'] } }, [], key);
  t.is(taken.closed, null);
  t.deepEqual((await coordinator.worker(taken.id)).life.models, { vllm: ['a'] });
  taken.connection.heartbeat([], { vllm: ['c'], openai: ['d'] });
  t.deepEqual((await coordinator.worker(taken.id)).life.models, { vllm: ['c'] });
});

test('the workers of a key share its slots, those that came first first', async (t) => {
  const bundle = await setup(t);
  const { worker, clock } = bundle;
  const key = keyOf('gpu', { maxConcurrency: 6 });
  const first = await worker({ concurrency: 4 }, [], key);
  clock.advance(1);
  const second = await worker({ concurrency: 100_000 }, [], key);
  clock.advance(1);
  const third = await worker({ concurrency: 1 }, [], key);
  const other = await worker({ concurrency: 5 }, [], keyOf('other', { maxConcurrency: 5 }));
  t.deepEqual([first, second, third, other].map(toldSlots), [4, 2, 0, 5]);
  t.is(await slotsOf(bundle, second), 2);
  first.drop();
  t.deepEqual([second, third].map(toldSlots), [6, 0]);
  second.drop();
  t.is(toldSlots(third), 1);
});

test('a key with many workers is given no more jobs than it has slots', async (t) => {
  const { worker, coordinator } = await setup(t);
  const key = keyOf('greedy', { maxConcurrency: 3 });
  const workers = await Promise.all(Array.from({ length: 5 }, () => worker({ concurrency: 100 }, [], key)));
  for (let i = 0; i < 20; i += 1) await coordinator.dispatch(request());
  const honest = await worker({ concurrency: 100 }, [], keyOf('honest'));
  await honest.job(17);
  t.is(
    workers.reduce((sum, { jobs }) => sum + jobs.length, 0),
    3,
  );
});

test('a worker of a key without a bound has at most 1,000 slots, unless an operator gives it more', async (t) => {
  const bundle = await setup(t);
  const greedy = await bundle.worker({ name: 'box', concurrency: 100_000 });
  t.is(toldSlots(greedy), 1_000);
  await bundle.coordinator.setWorkerConcurrency(greedy.id, 5_000);
  t.is(toldSlots(greedy), 5_000);
  greedy.drop();
  t.is(toldSlots(await bundle.worker({ name: 'box', concurrency: 100_000 })), 5_000);
  const bound = await bundle.worker({ concurrency: 2_000 }, [], keyOf('k', { maxConcurrency: 3_000 }));
  t.is(toldSlots(bound), 2_000);
});

test('an operator cannot give a worker more slots than its key leaves it', async (t) => {
  const bundle = await setup(t);
  const key = keyOf('gpu', { maxConcurrency: 6 });
  const first = await bundle.worker({ concurrency: 2 }, [], key);
  bundle.clock.advance(1);
  const second = await bundle.worker({ concurrency: 2 }, [], key);
  await t.throwsAsync(bundle.coordinator.setWorkerConcurrency(second.id, 5), {
    message: /leaves it 4 slots/,
  });
  await bundle.coordinator.setWorkerConcurrency(second.id, 4);
  t.is(await slotsOf(bundle, second), 4);
  await bundle.coordinator.setWorkerConcurrency(first.id, 5);
  t.deepEqual([await slotsOf(bundle, first), await slotsOf(bundle, second)], [5, 1]);
});

test('other bounds of a key hold at once for the workers that are connected', async (t) => {
  const bundle = await setup(t);
  const hand = await bundle.worker({ name: 'gpu-1', tags: ['us'], concurrency: 10 }, [], keyOf('k'));
  const bind = (bounds: Partial<KeyBounds>) => hand.connection.boundsChanged(keyOf('k', bounds).bounds);
  bind({ maxConcurrency: 4 });
  t.is(toldSlots(hand), 4);
  bind({ maxConcurrency: 8 });
  t.is(toldSlots(hand), 8);
  bind({});
  t.is(toldSlots(hand), 10);
  bind({ tags: ['us'], namePatterns: ['gpu-*'] });
  t.is(hand.closed, null);
  bind({ tags: ['eu'] });
  t.is(hand.closed?.code, 4403);
  t.like(errorOf(hand), { code: 'key_not_allowed' });
  t.is((await bundle.coordinator.worker(hand.id)).status, 'disconnected');
});
