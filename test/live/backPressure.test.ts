import test, { type ExecutionContext } from 'ava';
import type { JobRecord } from '../../src/domain/job.ts';
import type { Principal } from '../../src/domain/key.ts';
import { closeCodes } from '../../src/domain/workerProtocol.ts';
import { webSocketFrame } from '../../src/live/encoding.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { type Dashboard, dashboard } from './support/dashboard.ts';
import { Stream } from './support/stream.ts';

const mebibyte = 1024 * 1024;
/** Of a subscriber: beyond it nothing more is sent. */
const unreadMax = 256 * 1024;
const viewer: Principal = { keyId: 'k', role: 'viewer', name: null, bounds: null, secretHash: '' };
/** Far more than the system itself keeps for a connection that is not read. */
const roundsMax = 200;

/** Tells of jobs that exist on the bus alone, each with 100 KB in a name: of anything longer, events have the beginning. */
async function telling(t: ExecutionContext, bundle: ApiBundle) {
  const tier = 'x'.repeat(100_000);
  const { job } = await bundle.coordinator.dispatch(request({ provider: 'nobody', tier }));
  const watcher = await dashboard(t, bundle);
  await watcher.subscribe('jobs');
  let told = 0;
  const tell = async (count: number, change: Partial<JobRecord> = {}): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      bundle.coordinator.bus.publish({
        type: 'job.created',
        at: bundle.clock.now(),
        job: { ...job, ...change },
      });
    }
    bundle.live.flush();
    told += count;
    await watcher.next('job.created', told);
  };
  /** Until one that does not read is behind. */
  const tellUntilBehind = async (): Promise<void> => {
    for (let round = 0; round < roundsMax && bundle.live.unsentBytes <= unreadMax; round += 1) await tell(10);
  };
  return { tell, tellUntilBehind, watcher };
}

async function setup(t: ExecutionContext) {
  const bundle = await setupApi(t);
  return { bundle, ...(await telling(t, bundle)) };
}

const snapshots = ({ frames }: Dashboard) => frames.filter(({ type }) => type === 'snapshot');

test('one that never reads costs no more than one write, holds up nobody, and is cut off', async (t) => {
  const { bundle, tell, tellUntilBehind, watcher } = await setup(t);
  const silent = await dashboard(t, bundle);
  await silent.subscribe('jobs');
  silent.socket.pause();
  await tellUntilBehind();
  const unsent = bundle.live.unsentBytes;
  t.true(unsent > unreadMax && unsent < 2 * mebibyte, String(unsent));
  for (let round = 0; round < 20; round += 1) await tell(10);
  t.is(bundle.live.unsentBytes, unsent, '20 MB later');
  t.is(bundle.live.subscriberCount, 2);
  bundle.clock.advance(20_000);
  t.is(bundle.live.subscriberCount, 1);
  t.is(bundle.live.unsentBytes, 0);
  await watcher.settled();
});

test('one that reads a little now and then is borne for a minute, and no longer', async (t) => {
  const { bundle, tell } = await setup(t);
  const ends: number[] = [];
  const trickle = { unsentBytes: 0 };
  const subscriber = bundle.live.join(
    {
      encoding: webSocketFrame,
      unnumbered: webSocketFrame,
      get unsentBytes() {
        return trickle.unsentBytes;
      },
      write: (bytes) => {
        trickle.unsentBytes += bytes.length;
      },
      onDrained: () => {},
      ping: () => {},
      end: (code) => ends.push(code),
    },
    viewer,
  );
  await subscriber.subscribe(['jobs'], null);
  bundle.clock.advance(1_000);
  while (!subscriber.isBehind) await tell(10);
  for (let look = 0; look < 3; look += 1) {
    trickle.unsentBytes -= 1_000;
    bundle.clock.advance(20_000);
  }
  t.deepEqual(ends, [], '59 s behind at the last look');
  trickle.unsentBytes -= 1_000;
  bundle.clock.advance(20_000);
  t.deepEqual(ends, [closeCodes.tryAgainLater]);
});

test('an event stream that is not read is cut off too', async (t) => {
  const { bundle, tellUntilBehind, watcher } = await setup(t);
  const stream = new Stream(t, bundle, '/api/events?topics=jobs');
  await stream.next('snapshot');
  stream.pause();
  await tellUntilBehind();
  bundle.clock.advance(20_000);
  t.is(bundle.live.subscriberCount, 1);
  bundle.clock.advance(1_000);
  await watcher.settled();
});

test('one that reads again is told what it has missed, event by event when that is little', async (t) => {
  const { bundle, tell, tellUntilBehind } = await setup(t);
  const slow = await dashboard(t, bundle);
  await slow.subscribe('jobs');
  slow.socket.pause();
  await tellUntilBehind();
  await tell(3, { id: 'missed' });
  slow.socket.resume();
  await slow.next(({ data }) => data?.id === 'missed', 3);
  t.is(snapshots(slow).length, 1);
  t.false(slow.frames.some(({ gap }) => gap));
  await tell(1, { id: 'after' });
  await slow.next(({ data }) => data?.id === 'after');
  const numbers = slow.frames.flatMap(({ type, seq }) => (type.startsWith('job.') ? [seq] : []));
  t.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  t.is(new Set(numbers).size, numbers.length);
});

test('after a loss come the newest state of each job and a fresh snapshot, and they say gap', async (t) => {
  const { bundle, tell, tellUntilBehind } = await setup(t);
  const slow = await dashboard(t, bundle);
  await slow.subscribe('jobs', 'workers');
  slow.socket.pause();
  await tellUntilBehind();
  for (let count = 0; count < 20; count += 1) {
    await tell(1, { id: 'a' });
    await tell(1, { id: 'b' });
  }
  slow.socket.resume();
  const { seq } = await slow.next(
    ({ type, topic, gap }) => type === 'snapshot' && topic === 'jobs' && gap === true,
  );
  await slow.next(({ type, topic, gap }) => type === 'snapshot' && topic === 'workers' && gap === true);
  for (const id of ['a', 'b']) {
    const states = slow.frames.filter(({ data }) => data?.id === id);
    t.is(states.length, 1, id);
    t.true(states[0]?.gap);
    t.true((states[0]?.seq ?? 0) <= seq);
  }
  await tell(1, { id: 'after' });
  t.is((await slow.next(({ data }) => data?.id === 'after')).gap, undefined);
});

test('transitions that were missed are a loss', async (t) => {
  const { bundle, tellUntilBehind } = await setup(t);
  const slow = await dashboard(t, bundle);
  await slow.subscribe('jobs', 'machines');
  slow.socket.pause();
  await tellUntilBehind();
  await bundle.worker();
  bundle.live.flush();
  slow.socket.resume();
  const { data } = await slow.next(({ topic, gap }) => topic === 'machines' && gap === true);
  t.like(data, { worker: { 'active.responsive': 1 } });
});

test('a transition that was missed stays a loss, also when one subscribes meanwhile', async (t) => {
  const { bundle, tellUntilBehind, watcher } = await setup(t);
  const slow = await dashboard(t, bundle);
  await slow.subscribe('jobs', 'machines');
  slow.socket.pause();
  await tellUntilBehind();
  await bundle.worker();
  bundle.live.flush();
  slow.send({ type: 'subscribe', topics: ['providers'] });
  await watcher.settled();
  slow.socket.resume();
  await slow.next(({ topic }) => topic === 'providers');
  await slow.next(({ topic, gap }) => topic === 'machines' && gap === true);
  t.pass();
});

test('one that subscribes while it is behind gets its snapshot once it reads', async (t) => {
  const { bundle, tell, tellUntilBehind } = await setup(t);
  const slow = await dashboard(t, bundle);
  await slow.subscribe('jobs');
  slow.socket.pause();
  await tellUntilBehind();
  slow.send({ type: 'subscribe', topics: ['workers'] });
  await tell(1, { id: 'missed' });
  slow.socket.resume();
  await slow.next(({ topic }) => topic === 'workers');
  t.is(slow.frames.filter(({ data }) => data?.id === 'missed').length, 1);
});
