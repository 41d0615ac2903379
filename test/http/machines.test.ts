import test from 'ava';
import {
  batchStatuses,
  healthStatuses,
  jobStates,
  leasePhases,
  providerStatuses,
  runStatuses,
  supervisorStatuses,
  workerStatuses,
} from '../../src/domain/states.ts';
import type { WireMachine } from '../../src/domain/wire/machine.ts';
import { type ApiBundle, setupApi } from '../support/api.ts';
import { request } from '../support/coordinator.ts';

const machine = async ({ api }: ApiBundle, name: string) =>
  (await api('GET', `/api/machines/${name}`)).json as unknown as WireMachine;
const count = ({ states }: WireMachine, path: string) => states.find((state) => state.path === path)?.count;

test('the machines are those of the dictionary of states, and every target is a state', async (t) => {
  const { api } = await setupApi(t);
  const { machines, total } = (await api('GET', '/api/machines')).json as unknown as {
    machines: WireMachine[];
    total: number;
  };
  t.is(total, 8);
  const dictionary: Record<string, readonly string[]> = {
    job: jobStates,
    lease: leasePhases,
    worker: workerStatuses,
    health: healthStatuses,
    provider: providerStatuses,
    run: runStatuses,
    batch: batchStatuses,
    supervisor: supervisorStatuses.map((status) => `admission.${status}`),
  };
  for (const { name, description, initial, states, transitions } of machines) {
    const paths = states.map(({ path }) => path);
    for (const path of dictionary[name] ?? []) t.true(paths.includes(path), `${name} ${path}`);
    t.true(description.length > 10);
    t.true(initial === null ? name === 'supervisor' : paths.includes(initial));
    for (const state of states) {
      t.true(state.description.length > 10, `${name} ${state.path}`);
      t.is(state.kind === 'compound', state.initial !== null, `${name} ${state.path}`);
    }
    for (const { target } of [...transitions, ...states.flatMap((state) => state.transitions)])
      t.true(target === null || paths.includes(target), `${name} → ${target}`);
  }
});

test('a transition tells its event, guard, target and actions, in the order in which they are tried', async (t) => {
  const job = await machine(await setupApi(t), 'job');
  const of = (path: string, event: string | null) =>
    job.states
      .find((state) => state.path === path)
      ?.transitions.filter((transition) => transition.event === event)
      .map(({ guard, target, actions }) => [guard, target, actions.join(' ')]);
  t.deepEqual(of('running', 'job.reaped'), [
    ['isReapedTooOften', 'failed', 'takeBack failLost'],
    ['isCurrentLease', 'pending', 'takeBack'],
  ]);
  t.deepEqual(of('running', 'job.cancelled'), [[null, 'cancelled', 'cancelAttempt abortWorker']]);
  t.deepEqual(of('pending.queued', null), [
    ['isDelayed', 'pending.delayed', ''],
    [null, 'pending.ready', ''],
  ]);
  t.deepEqual(of('completed', 'job.retried'), []);
  t.like(job.transitions[0], { event: 'job.usageReported', guard: 'isUncharged', target: null });
});

test('every state has the number of actors that are in it now', async (t) => {
  const bundle = await setupApi(t);
  const { coordinator, clock, api } = bundle;
  const hand = await bundle.worker();
  const paused = await bundle.worker({ providers: ['other'] });
  await api('POST', `/api/workers/${paused.id}/pause`);
  for (let jobs = 0; jobs < 3; jobs += 1) await coordinator.dispatch(request());
  await coordinator.dispatch(request({ notBefore: clock.now() + 60_000 }));
  await hand.job();
  const job = await machine(bundle, 'job');
  t.is(job.total, 4);
  t.deepEqual(
    ['pending', 'pending.ready', 'pending.delayed', 'running', 'running.active', 'completed'].map((path) =>
      count(job, path),
    ),
    [3, 2, 1, 1, 1, 0],
  );
  hand.drop();
  await bundle.jobWhen(hand.jobs[0]?.job_id ?? '', ({ state }) => state === 'running.stuck');
  t.is(count(await machine(bundle, 'job'), 'running.stuck'), 1);
  const worker = await machine(bundle, 'worker');
  t.deepEqual(
    ['active', 'paused', 'paused.responsive', 'disconnected'].map((path) => count(worker, path)),
    [0, 1, 1, 1],
  );
  t.is(count(await machine(bundle, 'lease'), 'running'), 1);
  t.is(count(await machine(bundle, 'supervisor'), 'admission.accepting'), 1);
  t.is(count(await machine(bundle, 'provider'), 'available'), 1);
});

test('a machine that does not exist is 404', async (t) => {
  const { api } = await setupApi(t);
  for (const name of ['jobs', 'constructor']) {
    t.like(await api('GET', `/api/machines/${name}`), { status: 404, json: { code: 'not_found' } });
  }
});
