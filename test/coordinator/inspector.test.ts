import test from 'ava';
import fc from 'fast-check';
import type { Logger } from 'pino';
import { createActor } from 'xstate';
import { supervisorMachine } from '../../machines/supervisorMachine.ts';
import { inspectable } from '../../src/coordinator/core/inspectable.ts';
import { Inspector, inspectOption } from '../../src/coordinator/core/inspector.ts';
import { silent } from '../../src/lib/log.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';
import { FakeClock } from '../support/fakeClock.ts';

/** Stands for the words of those who use the service. */
const secret = 'SECRET-WORDS';

/** One job that fails with a message, is tried again, and ends well. */
async function run(bundle: Bundle): Promise<string> {
  const hand = await bundle.worker({ name: 'w-1', host: secret, instance: secret });
  const { job } = await bundle.coordinator.dispatch(
    request({ prompt: secret, input: secret, metadata: { secret }, tags: [secret], params: { secret } }),
  );
  const first = await hand.job();
  const failed = {
    class: 'server_error',
    message: secret,
    status: 500,
    code: secret,
    retryAfterMs: null,
  } as const;
  await hand.connection.conclude(
    { jobId: first.job_id, lease: first.lease },
    { type: 'fail', failure: failed, usage: null },
  );
  await bundle.jobAs(job.id, 'pending.delayed');
  hand.drop();
  bundle.clock.advance(600_000);
  const other = await bundle.worker({ name: 'w-2' });
  await other.complete(await other.job(), secret);
  await bundle.jobAs(job.id, 'completed');
  return job.id;
}

test('nobody inspects unless told: an actor has no observer then, and there is nothing to read', async (t) => {
  const { coordinator } = await setup(t);
  t.is(coordinator.inspector, null);
  t.deepEqual(inspectOption(null, 'job', 'a'), {});
});

test('every event of every actor is seen, with the state before and after; a job from its creation', async (t) => {
  const bundle = await setup(t, {}, { inspects: true });
  const id = await run(bundle);
  const { events = [], actors = [] } = bundle.coordinator.inspector?.read() ?? {};
  const told = (machine: string) =>
    events.filter((one) => one.machine === machine).map(({ event, from, to }) => [event.type, from, to]);
  t.deepEqual(told('job'), [
    ['xstate.init', null, 'pending.ready'],
    ['job.assigned', 'pending.ready', 'running.active'],
    ['job.attemptFailed', 'running.active', 'pending.delayed'],
    ['job.due', 'pending.delayed', 'pending.ready'],
    ['job.assigned', 'pending.ready', 'running.active'],
    ['job.completed', 'running.active', 'completed'],
  ]);
  const at = (admission: string, assigning: string) =>
    `admission.${admission}, assigning.${assigning}, watching.waiting`;
  const started = await setup(t, {}, { inspects: true });
  const first = started.coordinator.inspector?.read().events ?? [];
  t.deepEqual(
    first.map(({ event, from, to }) => [event.type, from, to]),
    [
      ['supervisor.open', at('starting', 'idle'), at('recovering', 'idle')],
      ['supervisor.recovered', at('recovering', 'idle'), at('accepting', 'passing')],
      ['pass.ended', at('accepting', 'passing'), at('accepting', 'idle')],
    ],
  );
  t.deepEqual(told('worker')[0], ['worker.connected', 'disconnected', 'active.responsive']);
  t.true(told('provider').length > 0);
  t.like(
    actors.find(({ machine }) => machine === 'job'),
    { actorId: id, state: 'completed', eventCount: 6 },
  );
});

test('no word of those who use the service is seen', async (t) => {
  const bundle = await setup(t, {}, { inspects: true });
  await run(bundle);
  const seen = JSON.stringify(bundle.coordinator.inspector?.read());
  t.true(seen.includes('server_error') && seen.includes('"inputTokens":10'), 'what is no secret is there');
  t.false(seen.includes(secret));
});

test('a field that nobody has allowed is hidden, wherever it stands', (t) => {
  const anything = fc.object({
    maxDepth: 4,
    withNullPrototype: false,
    values: [fc.constant(secret), fc.integer()],
  });
  fc.assert(
    fc.property(anything, (value) => {
      t.false(JSON.stringify(inspectable({ hidden: value, attempts: [{ hidden: value }] })).includes(secret));
    }),
  );
});

test('what is shown is small, however large it is', (t) => {
  const attempts = Array.from({ length: 500 }, (_, number) => ({ number, model: 'm'.repeat(10_000) }));
  let deep: object = { target: 1 };
  for (let depth = 0; depth < 50; depth += 1) deep = { target: deep };
  const shown = inspectable({ attempts, ...deep });
  t.true(JSON.stringify(shown).length < 3_000);
  t.like((shown.attempts as { number: number }[]).at(-1), { number: 499 });
});

test('what is remembered is bounded: the last events, the last actors', (t) => {
  const inspector = new Inspector({ clock: new FakeClock(), logger: silent });
  for (let count = 0; count < 500; count += 1) {
    const actor = createActor(supervisorMachine, inspector.optionFor('supervisor', `s${count}`));
    actor.start().send({ type: 'supervisor.open' });
  }
  const { events, actors } = inspector.read();
  t.is(events.length, 60);
  t.is(actors.length, 200);
  t.is(actors[0]?.actorId, 's499');
  t.is(events.at(-1)?.actorId, 's499');
});

test('many frames of workers leave room for what jobs do, and all of it stays in order', async (t) => {
  const bundle = await setup(t, {}, { inspects: true });
  const id = await run(bundle);
  const hand = await bundle.worker({ name: 'w-3' });
  for (let count = 0; count < 500; count += 1) {
    bundle.clock.advance(2_000);
    hand.connection.heard();
  }
  const { events = [] } = bundle.coordinator.inspector?.read() ?? {};
  t.is(events.filter(({ machine }) => machine === 'worker').length, 60);
  t.is(events.filter(({ actorId }) => actorId === id).length, 6);
  const times = events.map(({ at }) => at);
  t.deepEqual(
    times,
    [...times].sort((a, b) => a - b),
  );
  t.is(events.at(-1)?.event.type, 'worker.heard');
});

test('a watcher that throws does not disturb the actor', (t) => {
  const told: unknown[] = [];
  const logger = { error: (fields: unknown) => told.push(fields) } as unknown as Logger;
  const inspector = new Inspector({ clock: new FakeClock(), logger });
  inspector.watch(() => {
    throw new Error('a bug of ours');
  });
  const actor = createActor(supervisorMachine, inspector.optionFor('supervisor', 's')).start();
  actor.send({ type: 'supervisor.open' });
  t.is(actor.getSnapshot().value.admission, 'recovering');
  t.is(told.length, 1);
});

test('a watcher that has left is told nothing more', (t) => {
  const inspector = new Inspector({ clock: new FakeClock(), logger: silent });
  const seen: string[] = [];
  const leave = inspector.watch(({ event }) => seen.push(event.type));
  const actor = createActor(supervisorMachine, inspector.optionFor('supervisor', 's')).start();
  actor.send({ type: 'supervisor.open' });
  leave();
  actor.send({ type: 'supervisor.recovered', paused: false });
  t.deepEqual(seen, ['supervisor.open']);
});
