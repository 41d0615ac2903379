import test from 'ava';
import { answer, job, setup } from './support/setup.ts';

test('a held worker stays connected, finishes what runs, gives back what still arrives, and takes work again', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'));
  const run = await provider.next();
  worker.hold(true);
  await first.take('drain');
  first.assign(job('b'));
  t.deepEqual(await first.take('release'), { type: 'release', job_id: 'b', lease: 1 });
  worker.hold(false);
  const second = await coordinator.connection();
  const { running } = await second.take('hello');
  t.true(
    running?.some(({ job_id }: { job_id: string }) => job_id === 'a'),
    'it claims what runs',
  );
  second.welcome();
  run.end(answer('made meanwhile'));
  t.is((await second.take('complete')).result.output, 'made meanwhile');
  second.assign(job('c'));
  await provider.next();
  t.is(worker.running, 1);
});

test('a held worker says so again over each new connection', async (t) => {
  const { coordinator, worker } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  worker.hold(true);
  await first.take('drain');
  first.socket.terminate();
  await (await coordinator.session()).take('drain');
  t.pass();
});

test('a new key is used over a new connection at once, and what runs goes on', async (t) => {
  const { coordinator, worker, provider } = await setup(t);
  await worker.start();
  const first = await coordinator.session();
  first.assign(job('a'));
  const run = await provider.next();
  worker.renewKey();
  const second = await coordinator.connection();
  t.deepEqual((await second.take('hello')).running, [{ job_id: 'a', lease: 1 }]);
  second.welcome();
  t.false(run.context.signal.aborted);
});
