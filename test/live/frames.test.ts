import test from 'ava';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { dashboard } from './support/dashboard.ts';

test('a frame of another form is answered and survived; the fifth ends with 1008', async (t) => {
  const bundle = await setupApi(t);
  const bad = [
    'garbage',
    '[]',
    Buffer.from([1, 2, 3]),
    { type: 'nonsense' },
    { topics: ['jobs'] },
    { type: 'subscribe' },
    { type: 'subscribe', topics: 'jobs' },
    { type: 'subscribe', topics: [] },
    { type: 'subscribe', topics: ['jobs', 'everything'] },
    { type: 'subscribe', topics: ['job:'] },
    { type: 'subscribe', topics: [5] },
    { type: 'subscribe', topics: ['jobs'], since: -1 },
    { type: 'subscribe', topics: ['jobs'], since: 'yesterday' },
    { type: 'unsubscribe', topics: [`job:${'x'.repeat(200)}`] },
    `{"type":"subscribe","topics":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
  ];
  for (let from = 0; from < bad.length; from += 5) {
    const view = await dashboard(t, bundle);
    await view.subscribe('workers');
    for (const [index, frame] of bad.slice(from, from + 5).entries()) {
      if (index === 4) await bundle.worker();
      if (index === 4) await view.next('worker.connected');
      view.send(frame);
      t.like(await view.next('error', index + 1), { code: 'bad_frame' }, JSON.stringify(frame));
    }
    t.is(await view.closed, closeCodes.policyViolation);
  }
});

test('a job that does not exist is no fault, and what was subscribed goes on', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('workers');
  for (let count = 1; count <= 10; count += 1) {
    view.send({ type: 'subscribe', topics: ['jobs', 'job:none'] });
    t.like(await view.next('error', count), { code: 'job_not_found' });
  }
  t.is(view.frames.filter(({ topic }) => topic === 'jobs').length, 0, 'none of the topics of that frame');
  await bundle.worker();
  await view.next('worker.connected');
  t.pass();
});

test('a frame over 64 KiB ends the connection and nothing else', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  view.send(`"${'x'.repeat(70_000)}"`);
  t.is(await view.closed, 1009);
  t.is((await bundle.api('GET', '/health')).status, 200);
  t.is(bundle.live.subscriberCount, 0);
});

test('more than a hundred frames in ten seconds end with 1008', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  for (let count = 0; count < 100; count += 1) view.send({ type: 'ping' });
  await view.next('pong', 100);
  bundle.clock.advance(10_000);
  for (let count = 0; count < 100; count += 1) view.send({ type: 'ping' });
  await view.next('pong', 200);
  view.send({ type: 'ping' });
  t.is(await view.closed, closeCodes.policyViolation);
});

test('a connection has at most a hundred topics', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  const topics: string[] = [];
  for (let count = 0; count < 101; count += 1) {
    topics.push(`job:${(await bundle.coordinator.dispatch(request({ provider: 'nobody' }))).job.id}`);
  }
  await view.subscribe(...topics.slice(0, 100));
  view.send({ type: 'subscribe', topics: topics.slice(100) });
  t.like(await view.next('error'), { code: 'too_many_topics' });
  view.send({ type: 'unsubscribe', topics: topics.slice(0, 1) });
  await view.subscribe(...topics.slice(100));
});

test('what was unsubscribed is told no more, and subscribing again brings a fresh snapshot', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('jobs', 'workers');
  view.send({ type: 'unsubscribe', topics: ['jobs', 'providers'] });
  await view.settled();
  await bundle.coordinator.dispatch(request({ provider: 'nobody' }));
  await bundle.worker();
  await view.next('worker.connected');
  t.is(view.frames.filter(({ type }) => type === 'job.created').length, 0);
  view.send({ type: 'subscribe', topics: ['jobs'] });
  const again = await view.next(({ type, topic }) => type === 'snapshot' && topic === 'jobs', 2);
  t.like(again.data.counts, { pending: 1 });
  t.is(again.gap, undefined);
});
