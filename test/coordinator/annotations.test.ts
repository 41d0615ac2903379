import test from 'ava';
import { request, setup } from '../support/coordinator.ts';

test('a change of an annotation keeps the rest of it, and outlives a restart', async (t) => {
  const { coordinator, clock, restart } = await setup(t);
  const { job } = await coordinator.dispatch(request());
  t.is(await coordinator.annotations.get(job.id), undefined);
  const at = clock.now();
  await Promise.all([
    coordinator.annotations.change(job.id, { metadata: { a: 'b' } }),
    coordinator.annotations.change(job.id, { isDeleted: true }),
  ]);
  const expected = { jobId: job.id, isDeleted: true, metadata: { a: 'b' }, at };
  t.deepEqual(await coordinator.annotations.get(job.id), expected);
  const again = await restart();
  t.deepEqual(await again.coordinator.annotations.get(job.id), expected);
});
