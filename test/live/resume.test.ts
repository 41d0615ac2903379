import test from 'ava';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { textParts } from '../support/textParts.ts';
import { type Dashboard, dashboard } from './support/dashboard.ts';

const lastSeq = (view: Dashboard): number => view.frames.findLast(({ seq }) => seq > 0)?.seq ?? 0;

test('who comes back is told what happened meanwhile, and nothing twice', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator } = bundle;
  const first = await dashboard(t, bundle);
  await first.subscribe('jobs');
  const { job: before } = await coordinator.dispatch(request());
  await first.next('job.created');
  const since = lastSeq(first);
  const epoch = first.frames[0]?.epoch;
  first.socket.terminate();
  await first.closed;
  const hand = await bundle.worker();
  await hand.complete(await hand.job());
  const { job: meanwhile } = await coordinator.dispatch(request());
  const again = await dashboard(t, bundle);
  again.send({ type: 'subscribe', topics: ['jobs', 'workers'], since, epoch });
  await hand.complete(await hand.job(2));
  await again.next(({ type, data }) => type === 'job.completed' && data.id === meanwhile.id);
  t.deepEqual(again.typesOf(before.id), ['job.started', 'job.completed']);
  t.deepEqual(again.typesOf(meanwhile.id), ['job.created', 'job.started', 'job.completed']);
  t.is(again.frames.filter(({ type }) => type === 'worker.connected').length, 1);
  t.is(again.frames.filter(({ type }) => type === 'snapshot').length, 0);
});

test('a number that is too old, or of another start, gets a snapshot that says gap', async (t) => {
  const bundle = await setupApi(t);
  const { seq } = bundle.live.feed;
  const asked = [
    { since: seq - 1 },
    { since: 5 },
    { since: seq + 1_000_000 },
    { since: seq, epoch: 'of another start' },
  ];
  for (const place of asked) {
    const view = await dashboard(t, bundle);
    view.send({ type: 'subscribe', topics: ['jobs', 'stats'], ...place });
    t.like(await view.next(({ topic }) => topic === 'jobs'), { gap: true });
    t.is((await view.next(({ topic }) => topic === 'stats')).gap, undefined, 'figures have no past');
  }
});

test('the numbers of a start are above those of the one before', async (t) => {
  const bundle = await setupApi(t);
  for (let count = 0; count < 20; count += 1) await bundle.coordinator.dispatch(request());
  const { seq, epoch } = bundle.live.feed;
  bundle.clock.advance(1);
  const next = await setupApi(t, {}, { clock: bundle.clock });
  t.true(next.live.feed.seq > seq);
  t.not(next.live.feed.epoch, epoch);
});

test('a second topic brings no event that the first has told', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('jobs');
  const since = lastSeq(view);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  const { lease } = await hand.job();
  await view.next('job.started');
  hand.connection.chunk({ jobId: job.id, lease }, 1, textParts('hello'));
  view.send({ type: 'subscribe', topics: [`job:${job.id}`], since });
  t.like((await view.next('job.progress')).data, { text: 'hello' });
  await hand.complete(await hand.job());
  await view.next('job.completed');
  t.deepEqual(view.typesOf(job.id), ['job.created', 'job.started', 'job.progress', 'job.completed']);
});

test('output that is no longer whole is told by a snapshot', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  const { lease } = await hand.job();
  const view = await dashboard(t, bundle);
  await view.subscribe(`job:${job.id}`);
  const since = lastSeq(view);
  const text = 'x'.repeat(100 * 1024);
  for (let seq = 1; seq <= 4; seq += 1) hand.connection.chunk({ jobId: job.id, lease }, seq, textParts(text));
  await view.next('job.progress', 4);
  const late = await dashboard(t, bundle);
  late.send({ type: 'subscribe', topics: [`job:${job.id}`], since });
  const { gap, data } = await late.next('snapshot');
  t.true(gap);
  const output = data.output as { seq: number; text: string; truncated: boolean };
  t.like(output, { seq: 4, truncated: true });
  t.is(output.text.length, 2 * text.length, 'the newest 256 KiB in whole chunks');
});

test('a new attempt begins its output anew', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  const first = await hand.job();
  hand.connection.chunk({ jobId: job.id, lease: first.lease }, 1, textParts('lost'));
  await hand.connection.conclude({ jobId: job.id, lease: first.lease }, { type: 'release' });
  const second = await hand.job(2);
  hand.connection.chunk({ jobId: job.id, lease: first.lease }, 2, textParts('too late'));
  hand.connection.chunk({ jobId: job.id, lease: second.lease }, 1, textParts('anew'));
  const view = await dashboard(t, bundle);
  await view.subscribe(`job:${job.id}`);
  t.like((await view.next('snapshot')).data.output, { lease: second.lease, text: 'anew', truncated: false });
});
