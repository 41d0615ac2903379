import test from 'ava';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { textParts } from '../support/textParts.ts';
import { Stream } from './support/stream.ts';

const withId = (bundle: ApiBundle, id: string | null) => ({
  authorization: `Bearer ${bundle.keys.viewer}`,
  ...(id === null ? {} : { 'last-event-id': id }),
});

test('everything: hello, a snapshot of each topic, then the events, each with its number', async (t) => {
  const bundle = await setupApi(t);
  const stream = new Stream(t, bundle, '/api/events', withId(bundle, null));
  t.is(await stream.opened, 200);
  await stream.next('snapshot', 3);
  t.is(stream.headers['content-type'], 'text/event-stream');
  t.regex(String(stream.headers['cache-control']), /no-store/);
  t.is(stream.retry, '2000');
  t.like(stream.events[0], { event: 'hello', id: null, data: { type: 'hello', role: 'viewer' } });
  t.deepEqual(
    stream.events.slice(1).map(({ data }) => data.topic),
    ['jobs', 'workers', 'providers'],
  );
  const hand = await bundle.worker();
  await bundle.coordinator.dispatch(request());
  await hand.complete(await hand.job());
  const { id, data } = await stream.next('job.completed');
  t.is(id, String(data.seq));
  t.deepEqual(
    stream.events.filter(({ event }) => event.startsWith('job.')).map(({ event }) => event),
    ['job.created', 'job.started', 'job.completed'],
  );
  bundle.clock.advance(20_000);
  while (stream.comments.length === 0) await stream.heard();
  t.deepEqual(stream.comments, ['ping']);
});

test('topics are chosen in the address', async (t) => {
  const bundle = await setupApi(t);
  const { job } = await bundle.coordinator.dispatch(request({ provider: 'nobody' }));
  const stream = new Stream(t, bundle, `/api/events?topics=stats,machines&topics=job:${job.id}`);
  await stream.next('snapshot', 3);
  bundle.clock.advance(1_000);
  await stream.next('stats');
  t.like(await bundle.api('GET', '/api/events?topics=jobs,everything'), { status: 400 });
  t.like(await bundle.api('GET', '/api/events?topic=jobs'), { status: 400 });
  t.like(await bundle.api('GET', '/api/events?since=yesterday'), { status: 400 });
  t.like(await bundle.api('GET', '/api/events?topics=job:none'), {
    status: 404,
    json: { code: 'job_not_found' },
  });
});

test('one job: its state, its output as it comes, and the end', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  const { lease } = await hand.job();
  hand.connection.chunk({ jobId: job.id, lease }, 1, textParts('Once '));
  const stream = new Stream(t, bundle, `/api/jobs/${job.id}/events`);
  t.like((await stream.next('snapshot')).data.data, {
    job: { id: job.id, status: 'running' },
    output: { lease, text: 'Once ', truncated: false },
  });
  await bundle.coordinator.dispatch(request({ provider: 'nobody' }));
  hand.connection.chunk({ jobId: job.id, lease }, 2, textParts('upon\n\na time'));
  t.like((await stream.next('job.progress')).data.data, { seq: 2, text: 'upon\n\na time' });
  await hand.complete(await hand.job());
  await stream.next('job.completed');
  await stream.ended;
  t.deepEqual(
    stream.events.map(({ event }) => event),
    ['hello', 'snapshot', 'job.progress', 'job.completed'],
  );
  t.is(bundle.live.subscriberCount, 0);
});

test('Last-Event-ID resumes; who has the end already is told so with 204', async (t) => {
  const bundle = await setupApi(t);
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  const { lease } = await hand.job();
  const path = `/api/jobs/${job.id}/events`;
  const say = (seq: number, text: string) =>
    hand.connection.chunk({ jobId: job.id, lease }, seq, textParts(text));
  const first = new Stream(t, bundle, path);
  await first.next('snapshot');
  say(1, 'a');
  const { id } = await first.next('job.progress');
  say(2, 'b');
  say(3, 'c');
  const second = new Stream(t, bundle, path, withId(bundle, id));
  await second.next('job.progress', 2);
  await hand.complete(await hand.job());
  await second.ended;
  t.deepEqual(
    second.events.map(({ event, data }) => [event, data.data?.text]),
    [
      ['hello', undefined],
      ['job.progress', 'b'],
      ['job.progress', 'c'],
      ['job.completed', undefined],
    ],
  );
  const third = new Stream(t, bundle, `${path}?since=${id}`);
  await third.ended;
  t.deepEqual(
    third.events.map(({ event }) => event),
    ['hello', 'job.completed'],
  );
  const last = third.events.at(-1)?.id ?? null;
  t.is(await new Stream(t, bundle, path, withId(bundle, last)).opened, 204);
  const fresh = new Stream(t, bundle, path);
  await fresh.ended;
  t.like(fresh.events[1], { event: 'snapshot', data: { data: { job: { status: 'completed' } } } });
  const foreign = new Stream(t, bundle, path, withId(bundle, '7'));
  await foreign.ended;
  t.like(foreign.events[1], { event: 'snapshot', data: { gap: true } });
  const odd = new Stream(t, bundle, path, withId(bundle, 'no number'));
  await odd.ended;
  t.like(odd.events[1], { event: 'snapshot', data: { gap: true } });
});

test('a job that ends while a stream is opened ends the stream, however close', async (t) => {
  const bundle = await setupApi(t);
  for (let round = 0; round < 10; round += 1) {
    const { job } = await bundle.coordinator.dispatch(request({ provider: 'nobody' }));
    const stream = new Stream(t, bundle, `/api/jobs/${job.id}/events`);
    await Promise.all([bundle.coordinator.cancel(job.id), stream.ended]);
    const { event, data } = stream.events.at(-1) ?? {};
    const told = event === 'snapshot' ? (data?.data as { job: object })?.job : data?.data;
    t.like(told, { status: 'cancelled' });
  }
});

test('a stream takes a ticket in the address, once; other routes take none', async (t) => {
  const bundle = await setupApi(t);
  const ticket = async () => String((await bundle.api('POST', '/api/tickets')).json.ticket);
  const status = (path: string) => new Stream(t, bundle, path, {}).opened;
  const one = await ticket();
  t.is(await status(`/api/events?ticket=${one}`), 200);
  t.is(await status(`/api/events?ticket=${one}`), 401);
  t.is(await status('/api/events'), 401);
  const { job } = await bundle.coordinator.dispatch(request({ provider: 'nobody' }));
  t.is(await status(`/api/jobs/${job.id}/events?ticket=${await ticket()}`), 200);
  t.is(await status(`/api/jobs?ticket=${await ticket()}`), 401);
  t.is(await status(`/api/jobs/${job.id}?ticket=${await ticket()}`), 401);
});

test('HEAD on a stream says what it would be, and holds nothing open', async (t) => {
  const bundle = await setupApi(t);
  const reply = await bundle.api('HEAD', '/api/events');
  t.is(reply.status, 200);
  t.is(bundle.live.subscriberCount, 0);
});

test('a listener that has gone is forgotten', async (t) => {
  const bundle = await setupApi(t);
  const stream = new Stream(t, bundle, '/api/events?topics=stats,machines');
  await stream.next('snapshot', 2);
  stream.destroy();
  const { seq } = bundle.live.feed;
  while (bundle.live.subscriberCount > 0) await new Promise((resolve) => setImmediate(resolve));
  await bundle.worker();
  bundle.clock.advance(5_000);
  await bundle.api('GET', '/health');
  t.is(bundle.live.feed.seq, seq + 1, 'the worker alone: neither figures nor transitions');
});
