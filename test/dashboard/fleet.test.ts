import test from 'ava';
import { countdown } from '../../src/dashboard/components/countdownText.ts';
import { isHeldUp, liveProviders } from '../../src/dashboard/pages/providers/liveProviders.ts';
import { concurrencyOf, countByStatus, liveWorkers } from '../../src/dashboard/pages/workers/liveWorkers.ts';
import { merged, withJob } from '../../src/dashboard/pages/workers/runningJobs.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import type { WireProvider } from '../../src/domain/wire/provider.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';

const worker = (name: string, more: Partial<WireWorker> = {}): WireWorker => ({
  id: name,
  name,
  kind: 'local',
  providers: ['echo'],
  models: {},
  tags: [],
  key: null,
  concurrency: 4,
  connected: true,
  paused: false,
  status: 'active',
  running_jobs: [],
  running: 0,
  version: null,
  host: null,
  connected_at: '2026-11-21T09:00:00.000Z',
  last_heartbeat_at: '2026-11-21T09:00:00.000Z',
  refusals: [],
  completed: 0,
  failed: 0,
  ...more,
});

const byId = (workers: WireWorker[]) => new Map(workers.map((one) => [one.id, one]));

const slotsOf = (id: string, taken: number, heard: string) => ({
  slots: {
    total: 4,
    taken,
    workers: [{ id, name: id, total: 4, taken, last_heartbeat_at: heard }],
    providers: [],
  },
});

test('a worker shows the taken slots and the heartbeat of the newest figures', (t) => {
  const stats = slotsOf('a', 3, '2026-11-21T09:00:05.000Z');
  const [shown] = liveWorkers(byId([worker('a')]), stats);
  t.like(shown, { running: 3, last_heartbeat_at: '2026-11-21T09:00:05.000Z' });
  const newer = worker('a', { last_heartbeat_at: '2026-11-21T09:00:06.000Z' });
  t.is(liveWorkers(byId([newer]), stats)[0]?.last_heartbeat_at, newer.last_heartbeat_at);
  const gone = worker('a', { connected: false, status: 'disconnected' });
  t.is(
    liveWorkers(byId([gone]), stats)[0]?.running,
    0,
    'figures of a second ago say nothing of one that left',
  );
});

test('workers that work come first, then by name, and are counted by status', (t) => {
  const all = [
    worker('d', { status: 'disconnected', connected: false }),
    worker('b'),
    worker('p', { status: 'paused', paused: true }),
    worker('a'),
  ];
  const shown = liveWorkers(byId(all), null);
  t.deepEqual(
    shown.map(({ name }) => name),
    ['a', 'b', 'p', 'd'],
  );
  t.deepEqual(
    [...countByStatus(shown)],
    [
      ['active', 2],
      ['paused', 1],
      ['disconnected', 1],
    ],
  );
});

test('a concurrency is a whole number that the API takes', (t) => {
  t.is(concurrencyOf(' 12 '), 12);
  t.is(concurrencyOf('0'), 0);
  t.is(concurrencyOf('10000'), 10_000);
  for (const text of ['', '-1', '1.5', '10001', 'many', '1e3']) t.is(concurrencyOf(text), null, text);
});

const job = (id: string, more: Partial<WireJob> = {}): WireJob =>
  ({
    id,
    status: 'running',
    worker_id: 'w',
    updated_at: '2026-11-21T09:00:00.000Z',
    started_at: '2026-11-21T09:00:00.000Z',
    attempts: [],
    ...more,
  }) as unknown as WireJob;

test('the jobs of a worker come and go with the events of all jobs', (t) => {
  const one = job('1');
  const other = job('2', { worker_id: 'x' });
  t.deepEqual(withJob([one], other, 'w'), [one]);
  const later = job('3', { started_at: '2026-11-21T09:00:09.000Z' });
  t.deepEqual(
    withJob([one], later, 'w').map(({ id }) => id),
    ['3', '1'],
  );
  const ended = job('1', { status: 'completed', updated_at: '2026-11-21T09:00:02.000Z' });
  t.deepEqual(withJob([one], ended, 'w'), []);
  const moved = job('1', { worker_id: 'x', updated_at: '2026-11-21T09:00:02.000Z' });
  t.deepEqual(withJob([one], moved, 'w'), []);
  const stale = job('1', { status: 'pending', updated_at: '2026-11-21T08:59:00.000Z' });
  t.deepEqual(withJob([one], stale, 'w'), [one]);
  t.deepEqual(merged([one], [ended, later], 'w'), [later]);
});

const provider = (name: string, more: Partial<WireProvider> = {}): WireProvider => ({
  name,
  configured: false,
  status: 'available',
  until: null,
  changed_at: null,
  running: 1,
  max_concurrent: null,
  latency_ms: null,
  model: null,
  rate_limit: null,
  limits_in_row: 0,
  breaker: {
    ratio: 0.5,
    minimum: 10,
    window_seconds: 60,
    open_seconds: 30,
    attempts: 0,
    failed: 0,
    opens_in_row: 0,
    opened_by: null,
  },
  workers: 1,
  slots: 4,
  free_slots: 3,
  models: [],
  ...more,
});

test('providers that hold jobs up come first, with what waits for them', (t) => {
  const known = new Map([
    ['a', provider('a')],
    ['z', provider('z', { status: 'limited' })],
  ]);
  const group = { priority: 'normal', oldest_wait_ms: 5 };
  const shown = liveProviders(known, {
    slots: { total: 4, taken: 2, workers: [], providers: [{ provider: 'a', total: 4, taken: 2, free: 2 }] },
    pending: [
      { ...group, provider: 'a', ready: 3 },
      { ...group, provider: 'a', priority: 'high', ready: 2 },
    ],
  });
  t.deepEqual(
    shown.map(({ name }) => name),
    ['z', 'a'],
  );
  t.like(shown[1], { running: 2, slots: 4, free_slots: 2, waiting: 5 });
  t.like(shown[0], { running: 0, slots: 0, waiting: 0 }, 'no connected worker serves it');
  t.like(liveProviders(known, null)[1], { running: 1, slots: 4 });
});

test('a reset is offered while it would change something', (t) => {
  t.false(isHeldUp(provider('a')));
  t.true(isHeldUp(provider('a', { status: 'open' })));
  t.true(isHeldUp(provider('a', { limits_in_row: 1 })));
  t.true(isHeldUp(provider('a', { breaker: { ...provider('a').breaker, failed: 2 } })));
});

test('a countdown reads as a clock and ends at zero', (t) => {
  t.is(countdown(8_000, 0), '0:08');
  t.is(countdown(7_001, 0), '0:08', 'never over before it is over');
  t.is(countdown(760_000, 0), '12:40');
  t.is(countdown(3_723_000, 0), '1:02:03');
  t.is(countdown(0, 5_000), '0:00');
});
