import test from 'ava';
import type { WireInspection } from '../../src/domain/wire/machine.ts';
import { setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';
import { Dashboard, dashboard } from './support/dashboard.ts';

const eventOf = (data: Record<string, unknown>) => (data.event as { type: string }).type;

test('an admin is told what the actors do: what they did lately, and then each event', async (t) => {
  const bundle = await setupApi(t, {}, { inspects: true });
  const view = await dashboard(t, bundle);
  await view.subscribe('inspect');
  const { data } = await view.next('snapshot');
  const { enabled, events } = data as unknown as WireInspection;
  t.true(enabled);
  t.deepEqual(events.map(({ event }) => event.type).slice(0, 3), [
    'supervisor.open',
    'supervisor.recovered',
    'pass.ended',
  ]);
  await bundle.worker({ name: 'w-1' });
  const connected = await view.next(
    ({ type, data: told }) => type === 'inspected' && told.machine === 'worker',
  );
  t.is(eventOf(connected.data), 'worker.connected');
  t.like(connected.data, { from: 'disconnected', to: 'active.responsive', context: { name: 'w-1' } });
  const { job } = await bundle.coordinator.dispatch(request());
  const ofJob = ({ type, data: told }: { type: string; data: Record<string, unknown> }) =>
    type === 'inspected' && told.actor_id === job.id;
  const created = await view.next(ofJob);
  t.like(created.data, { event: { type: 'xstate.init' }, from: null, to: 'pending.ready' });
  t.is(eventOf((await view.next(ofJob, 2)).data), 'job.assigned');
});

test('GET /api/inspect answers the same', async (t) => {
  const { api } = await setupApi(t, {}, { inspects: true });
  const { json } = await api('GET', '/api/inspect');
  const { enabled, actors, events } = json as unknown as WireInspection;
  t.true(enabled);
  t.like(actors[0], {
    machine: 'supervisor',
    state: 'admission.accepting, assigning.idle, watching.waiting',
    event_count: 3,
  });
  t.is(events.length, 3);
});

test('a coordinator that is not inspected says so, and tells nothing', async (t) => {
  const bundle = await setupApi(t);
  const nothing = { enabled: false, actors: [], events: [] };
  t.deepEqual((await bundle.api('GET', '/api/inspect')).json as unknown, nothing);
  const view = await dashboard(t, bundle);
  await view.subscribe('inspect');
  t.deepEqual((await view.next('snapshot')).data as unknown, nothing);
  await bundle.worker();
  await view.settled();
  t.deepEqual(
    view.frames.filter(({ type }) => type === 'inspected'),
    [],
  );
});

test('keys of other roles hear nothing of it, and go on hearing the rest', async (t) => {
  const bundle = await setupApi(t, {}, { inspects: true });
  for (const role of ['viewer', 'client', 'operator'] as const) {
    const authorization = `Bearer ${bundle.keys[role]}`;
    t.is((await bundle.api('GET', '/api/inspect', undefined, { authorization })).status, 403);
    t.is((await bundle.api('GET', '/api/events?topics=inspect', undefined, { authorization })).status, 403);
    const view = new Dashboard(t, bundle, { headers: { authorization } });
    await view.opened;
    view.send({ type: 'subscribe', topics: ['inspect'] });
    t.is((await view.next('error')).code, 'forbidden');
    view.send({ type: 'subscribe', topics: ['workers', 'inspect'] });
    t.is((await view.next('error', 2)).code, 'forbidden');
    await view.subscribe('workers');
    await bundle.worker();
    await view.next('worker.connected');
    t.deepEqual(
      view.frames.filter(({ topic, type }) => topic === 'inspect' || type === 'inspected'),
      [],
    );
  }
});
