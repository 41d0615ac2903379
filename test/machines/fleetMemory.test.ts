import test from 'ava';
import type { WorkerHello } from '../../src/domain/worker.ts';
import {
  hello,
  newWorker,
  supervisorsInEveryState,
  worker,
  workerAfter,
  workersInEveryState,
} from './fleet.ts';

const active = workerAfter(newWorker(), worker.connected(10));

test('a hello replaces what was known of a worker, but for its id', (t) => {
  const other: WorkerHello = {
    ...hello,
    kind: 'cloud',
    providers: ['openai'],
    models: {},
    tags: [],
    host: null,
  };
  t.deepEqual(workerAfter(active, worker.connected(99, other)).context, {
    ...other,
    id: 'w1',
    wantedConcurrency: 2,
    declaredConcurrency: 2,
    paused: false,
    connectedAt: 99,
    lastHeartbeatAt: 99,
  });
});

test('a concurrency set by PATCH outlives hellos until the worker’s own setting changes', (t) => {
  const resized = workerAfter(active, worker.resized, worker.disconnected, worker.connected());
  t.like(resized.context, { concurrency: 0, declaredConcurrency: 2 });
  const changed = workerAfter(resized, worker.disconnected, worker.connected(11, { concurrency: 4 }));
  t.like(changed.context, { concurrency: 4, declaredConcurrency: 4 });
});

test('what a key takes from the slots of a worker is not forgotten: a later hello wants them again', (t) => {
  const limited = workerAfter(active, worker.limited);
  t.like(limited.context, { concurrency: 1, wantedConcurrency: 2 });
  t.like(workerAfter(limited, worker.disconnected, worker.connected()).context, { concurrency: 2 });
  t.like(workerAfter(limited, worker.resized).context, { concurrency: 0, wantedConcurrency: 0 });
});

test('any frame is a sign of life', (t) => {
  for (const [name, snapshot] of Object.entries(workersInEveryState())) {
    if (name === 'disconnected') continue;
    t.is(workerAfter(snapshot, worker.heard).context.lastHeartbeatAt, worker.heard.at, name);
  }
});

test('a worker that is gone is connected since never, and its last sign of life stays', (t) => {
  for (const [name, snapshot] of Object.entries(workersInEveryState())) {
    if (name === 'disconnected') continue;
    const gone = workerAfter(snapshot, worker.heard, worker.disconnected);
    t.like(gone.context, { connectedAt: null, lastHeartbeatAt: worker.heard.at }, name);
  }
});

test('pause and resume are remembered wherever the worker is', (t) => {
  for (const [name, snapshot] of Object.entries(workersInEveryState())) {
    const paused = name.startsWith('paused') ? snapshot : workerAfter(snapshot, worker.paused);
    t.true(paused.context.paused, name);
    t.false(workerAfter(paused, worker.resumed).context.paused, name);
  }
});

test('new models replace the old ones and change nothing else', (t) => {
  const { context } = workerAfter(active, worker.modelsChanged);
  t.deepEqual(context, { ...active.context, models: worker.modelsChanged.models });
});

test('only a worker that is active and in time takes new work', (t) => {
  for (const [name, snapshot] of Object.entries(workersInEveryState())) {
    t.is(snapshot.hasTag('assignable'), name === 'active.responsive', name);
    t.is(snapshot.hasTag('active'), name.startsWith('active'), name);
  }
});

test('a paused worker that is silent gets no work by a resume until it speaks', (t) => {
  for (const silent of [
    workerAfter(active, worker.paused, worker.late, worker.resumed),
    workerAfter(active, worker.late, worker.paused, worker.resumed),
  ]) {
    t.false(silent.hasTag('assignable'));
    t.true(workerAfter(silent, worker.heard).hasTag('assignable'));
  }
});

test('the supervisor accepts and assigns only where its state allows it', (t) => {
  for (const snapshot of Object.values(supervisorsInEveryState())) {
    const { admission } = snapshot.value;
    t.is(snapshot.hasTag('dispatching'), admission === 'accepting' || admission === 'paused', admission);
    t.is(snapshot.hasTag('assigning'), admission === 'accepting', admission);
  }
});
