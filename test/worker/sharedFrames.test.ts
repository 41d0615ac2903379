import test from 'ava';
import { answer, job, setup } from './support/setup.ts';

test('outcomes of one turn share a frame, and acks that come together end them all', async (t) => {
  const { coordinator, worker, provider } = await setup(t, { concurrency: 3 });
  await worker.start();
  const session = await coordinator.session({ features: ['shared_frames'], concurrency: 3 });
  session.assign(job('a'), job('b'), job('c'));
  const runs = [await provider.next(), await provider.next(), await provider.next()];
  for (const { end } of runs) end(answer('done'));
  const { outcomes } = await session.take('outcomes');
  t.deepEqual(
    outcomes.map((outcome) => (outcome as { job_id: string }).job_id),
    ['a', 'b', 'c'],
  );
  t.is(worker.undelivered, 3);
  const acks = ['a', 'b', 'c'].map((id) => ({ job_id: id, lease: 1, accepted: true }));
  session.raw(JSON.stringify({ type: 'acks', acks: [...acks.slice(0, 2), { job_id: 'c' }, null] }));
  await session.settled();
  t.is(worker.undelivered, 1);
  // What was not acknowledged is sent again, alone, to a coordinator that knows nothing of shared frames.
  session.socket.terminate();
  const again = await coordinator.session();
  t.like(await again.take('complete'), { job_id: 'c' });
  again.ack({ job_id: 'c', lease: 1 });
  await again.settled();
  t.is(worker.undelivered, 0);
});

test('a long outcome does not share its frame', async (t) => {
  const { coordinator, worker, provider } = await setup(t, { concurrency: 3 });
  await worker.start();
  const session = await coordinator.session({ features: ['shared_frames'], concurrency: 3 });
  session.assign(job('a'), job('b'), job('c'));
  const runs = [await provider.next(), await provider.next(), await provider.next()];
  for (const [place, { end }] of runs.entries()) end(answer(place === 0 ? 'x'.repeat(40_000) : 'done'));
  t.like(await session.take('complete'), { job_id: 'a' });
  t.is((await session.take('outcomes')).outcomes.length, 2);
});
