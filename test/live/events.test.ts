import test from 'ava';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { textParts } from '../support/textParts.ts';
import { dashboard } from './support/dashboard.ts';

test('the events of a job come in order, each once, with numbers that only rise', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('jobs', 'workers');
  const hand = await bundle.worker({ name: 'w-1' });
  const { job } = await bundle.coordinator.dispatch(request({ prompt: 'Say hello', input: 'secret' }));
  await hand.complete(await hand.job());
  const { data } = await view.next('job.completed');
  t.deepEqual(view.typesOf(job.id), ['job.created', 'job.started', 'job.completed']);
  t.like(data, { id: job.id, status: 'completed', prompt: 'Say hello', attempt_count: 1 });
  t.false('input' in data || 'result' in data, 'the form of lists');
  t.like((await view.next('worker.connected')).data, { name: 'w-1', connected: true, status: 'active' });
  const numbers = view.frames.flatMap(({ type, seq }) => (type === 'hello' || !seq ? [] : [seq]));
  t.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
});

test('a snapshot comes first: counts and the newest jobs, every worker, every provider', async (t) => {
  const bundle = await setupApi(t);
  const { job } = await bundle.coordinator.dispatch(request({ provider: 'nobody' }));
  const hand = await bundle.worker({ name: 'w-1' });
  await bundle.coordinator.dispatch(request());
  await hand.complete(await hand.job());
  const view = await dashboard(t, bundle);
  await view.subscribe('jobs', 'workers', 'providers', 'machines', 'stats');
  const of = (topic: string) => view.frames.find((frame) => frame.topic === topic)?.data;
  const jobs = of('jobs') as unknown as { counts: object; latest: { id: string }[] };
  t.like(jobs.counts, { pending: 1, completed: 1, running: 0 });
  t.is(jobs.latest.length, 2);
  t.is(jobs.latest[1]?.id, job.id, 'newest first');
  t.like(of('workers'), [{ name: 'w-1', completed: 1, failed: 0 }]);
  t.like(of('providers'), [{ name: 'echo', status: 'available' }]);
  t.like(of('machines'), {
    job: { 'pending.ready': 1 },
    worker: { 'active.responsive': 1 },
    supervisor: { 'admission.accepting': 1 },
  });
  t.like(of('stats'), { jobs: { total: 2, by_status: { pending: 1, completed: 1 } } });
});

test('snapshots and events have the beginnings of long prompts, so that nobody is drowned', async (t) => {
  const bundle = await setupApi(t);
  const prompt = 'x'.repeat(300_000);
  const messages = [{ role: 'user', content: prompt }];
  for (let count = 0; count < 5; count += 1) await bundle.coordinator.dispatch(request({ prompt }));
  const view = await dashboard(t, bundle);
  await view.subscribe('jobs');
  const { job } = await bundle.coordinator.dispatch(request({ prompt: null, messages }));
  await view.subscribe(`job:${job.id}`);
  const { data } = await view.next('job.created');
  t.like(data, {
    id: job.id,
    messages: [{ role: 'user', content: 'x'.repeat(500) }],
    messages_truncated: true,
  });
  const latest = view.frames.find(({ topic }) => topic === 'jobs')?.data.latest as WireJob[];
  t.is(latest.length, 5);
  for (const one of latest) t.like(one, { prompt: 'x'.repeat(500), prompt_truncated: true });
  for (const frame of view.frames) t.true(JSON.stringify(frame).length < 10_000, frame.type);
});

test('a worker’s events carry what it has completed', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('workers');
  const hand = await bundle.worker();
  await bundle.coordinator.dispatch(request());
  await hand.complete(await hand.job());
  await bundle.coordinator.setWorkerPaused(hand.id, true);
  t.like((await view.next('worker.paused')).data, { completed: 1, failed: 0, paused: true });
  await bundle.coordinator.setWorkerPaused(hand.id, false);
  await view.next('worker.resumed');
  hand.drop();
  t.like((await view.next('worker.disconnected')).data, { completed: 1, connected: false });
  await bundle.coordinator.forgetWorker(hand.id);
  t.like((await view.next('worker.forgotten')).data, { id: hand.id, completed: 1 });
});

test('output chunks go to whoever watches the job; a late viewer gets the text so far', async (t) => {
  const bundle = await setupApi(t);
  const everything = await dashboard(t, bundle);
  await everything.subscribe('jobs');
  const hand = await bundle.worker();
  const { job } = await bundle.coordinator.dispatch(request());
  const { lease } = await hand.job();
  const say = (seq: number, text: string) =>
    hand.connection.chunk({ jobId: job.id, lease }, seq, textParts(text));
  say(1, 'Once ');
  say(2, 'upon ');
  say(2, 'upon ');
  const late = await dashboard(t, bundle);
  await late.subscribe(`job:${job.id}`);
  t.deepEqual((await late.next('snapshot')).data.output, {
    lease,
    seq: 2,
    text: 'Once upon ',
    truncated: false,
  });
  say(3, 'a time');
  t.deepEqual((await late.next('job.progress')).data, { id: job.id, lease, seq: 3, text: 'a time' });
  await hand.complete(await hand.job());
  await late.next('job.completed');
  await everything.next('job.completed');
  t.deepEqual(everything.typesOf(job.id), ['job.created', 'job.started', 'job.completed']);
  const after = await dashboard(t, bundle);
  await after.subscribe(`job:${job.id}`);
  t.is((await after.next('snapshot')).data.output, null, 'freed with the end');
});

test('a job whose worker goes and comes back with it is told of as stuck and resumed, and keeps its output', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  const { job } = await bundle.coordinator.dispatch(request());
  await view.subscribe('jobs', `job:${job.id}`);
  const hand = await bundle.worker({ name: 'box' });
  const { lease } = await hand.job();
  hand.connection.chunk({ jobId: job.id, lease }, 1, textParts('Once '));
  hand.drop();
  t.like((await view.next('job.stuck')).data, { id: job.id, status: 'running', stuck: true });
  const back = await bundle.worker({ name: 'box' }, [{ jobId: job.id, lease }]);
  t.like((await view.next('job.resumed')).data, { id: job.id, status: 'running', stuck: false });
  const late = await dashboard(t, bundle);
  await late.subscribe(`job:${job.id}`);
  t.like((await late.next('snapshot')).data.output, { lease, text: 'Once ' });
  await back.complete({ ...(await hand.job()) });
  await view.next('job.completed');
  t.deepEqual(view.typesOf(job.id), [
    'job.started',
    'job.progress',
    'job.stuck',
    'job.resumed',
    'job.completed',
  ]);
});

test('providers tell when they are limited and when they have recovered', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('providers');
  const hand = await bundle.worker();
  await bundle.coordinator.dispatch(request());
  const { job_id: jobId, lease } = await hand.job();
  const failure = {
    class: 'rate_limited' as const,
    message: 'slow down',
    status: 429,
    code: null,
    retryAfterMs: 5_000,
  };
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  t.like((await view.next('provider.limited')).data, { name: 'echo', status: 'limited' });
  bundle.clock.advance(6_000);
  t.like((await view.next('provider.probing')).data, { name: 'echo', status: 'probing' });
  await bundle.coordinator.dispatch(request());
  await hand.complete(await hand.job(2));
  t.like((await view.next('provider.recovered')).data, { name: 'echo', status: 'available', until: null });
});

test('the queue tells when it is paused and when it is resumed, and its snapshot is its state', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await view.subscribe('queue');
  const snapshot = view.frames.find(({ topic }) => topic === 'queue');
  t.deepEqual(snapshot?.data as unknown, { paused: false, since: null, by: null, reason: null });
  const paused = (await bundle.api('POST', '/api/queue/pause', { reason: 'new prices' })).json;
  t.deepEqual((await view.next('queue.paused')).data as unknown, paused);
  const resumed = (await bundle.api('POST', '/api/queue/resume')).json;
  t.deepEqual((await view.next('queue.resumed')).data as unknown, resumed);
  const later = await dashboard(t, bundle);
  await later.subscribe('queue');
  t.like(later.frames.find(({ topic }) => topic === 'queue')?.data, { paused: false });
});

test('transitions of every machine are told only while somebody watches them', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  await bundle.worker();
  await view.subscribe('machines');
  const hand = await bundle.worker({ name: 'seen' });
  const { job } = await bundle.coordinator.dispatch(request({ provider: 'echo' }));
  await view.next(({ type, data }) => type === 'transition' && data.to === 'running.active');
  const of = (id: string) =>
    view.frames
      .filter(({ type, data }) => type === 'transition' && data.actor_id === id)
      .map(({ data: { machine, from, to, event } }) => [machine, from, to, event]);
  t.deepEqual(of(job.id), [
    ['job', null, 'pending.ready', 'job.created'],
    ['job', 'pending.ready', 'running.active', 'job.assigned'],
  ]);
  t.deepEqual(of(hand.id), [['worker', 'disconnected', 'active.responsive', 'worker.connected']]);
  t.is(view.frames.filter(({ data }) => data?.machine === 'worker').length, 1);
  const before = bundle.live.feed.seq;
  view.send({ type: 'unsubscribe', topics: ['machines'] });
  await view.settled();
  await bundle.coordinator.setWorkerPaused(hand.id, true);
  t.is(bundle.live.feed.seq, before + 1, 'the pause alone has a number');
});

test('figures come once a second, and only while somebody wants them', async (t) => {
  const bundle = await setupApi(t);
  const view = await dashboard(t, bundle);
  bundle.clock.advance(5_000);
  await view.subscribe('stats');
  for (let second = 1; second <= 3; second += 1) {
    bundle.clock.advance(1_000);
    await view.next('stats', second);
  }
  view.send({ type: 'unsubscribe', topics: ['stats'] });
  await view.settled();
  const { seq } = bundle.live.feed;
  bundle.clock.advance(5_000);
  await view.settled();
  t.is(bundle.live.feed.seq, seq);
});

test('what nobody subscribes to is not even presented, and what many do is presented once', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator } = bundle;
  const views = await Promise.all(Array.from({ length: 5 }, () => dashboard(t, bundle)));
  for (const view of views) await view.subscribe('workers');
  const presented: string[] = [];
  const view = coordinator.view.bind(coordinator);
  coordinator.view = (job) => {
    presented.push(job.id);
    return view(job);
  };
  const hand = await bundle.worker();
  await coordinator.dispatch(request());
  await hand.complete(await hand.job());
  await Promise.all(views.map((one) => one.settled()));
  // The answer of dispatch is a view too.
  t.is(presented.length, 1);
  for (const one of views) await one.subscribe('jobs');
  presented.length = 0;
  const { job } = await coordinator.dispatch(request());
  await hand.complete(await hand.job(2));
  for (const one of views) await one.next('job.completed');
  t.is(presented.length, 4);
  for (const one of views) t.deepEqual(one.typesOf(job.id), ['job.created', 'job.started', 'job.completed']);
});

test('an event that cannot be shown ends those who want it, and nothing else', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator } = bundle;
  const view = await dashboard(t, bundle);
  const other = await dashboard(t, bundle);
  await view.subscribe('jobs');
  await other.subscribe('workers');
  const { job } = await coordinator.dispatch(request({ provider: 'nobody' }));
  await view.next('job.created');
  coordinator.bus.publish({
    type: 'job.started',
    at: 0,
    job: { ...job, life: { ...job.life, attempts: [null] } },
  } as never);
  t.is(await view.closed, closeCodes.tryAgainLater);
  await other.settled();
  t.is((await bundle.api('GET', '/health')).status, 200);
});
