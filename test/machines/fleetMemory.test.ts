import test from 'ava';
import type { WorkerHello } from '../../src/domain/worker.ts';
import {
  hello,
  newProvider,
  newWorker,
  provider,
  providerAfter,
  providersInEveryState,
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
  t.like(workerAfter(active, worker.heard, worker.disconnected).context, {
    connectedAt: null,
    lastHeartbeatAt: worker.heard.at,
  });
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

test('only a worker that is active and in time takes new work; all but a disconnected one are connected', (t) => {
  for (const [name, snapshot] of Object.entries(workersInEveryState())) {
    t.is(snapshot.hasTag('assignable'), name === 'active.responsive', name);
    t.is(snapshot.hasTag('connected'), name !== 'disconnected', name);
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

test('a limit is remembered with its end, and each one in a row is counted', (t) => {
  const limited = providerAfter(newProvider(), provider.limited(1_000, 10));
  t.deepEqual(limited.context, {
    name: 'openai',
    until: 1_000,
    limitsInRow: 1,
    opensInRow: 0,
    probeSent: false,
    changedAt: 10,
  });
  const again = providerAfter(limited, provider.due, provider.probeSent, provider.limited(9_000, 50));
  t.like(again.context, { until: 9_000, limitsInRow: 2, probeSent: false, changedAt: 50 });
});

test('answers 429 of the same burst only make a limit longer', (t) => {
  const { context } = providerAfter(newProvider(), provider.limited(1_000, 10), provider.limited(2_000, 11));
  t.like(context, { until: 2_000, limitsInRow: 1, changedAt: 10 });
});

test('a breaker that opens is remembered with its end, and each opening in a row is counted', (t) => {
  const open = providerAfter(newProvider(), provider.failed(0.9, 20, 20));
  t.like(open.context, { until: 520, opensInRow: 1, limitsInRow: 0, changedAt: 20 });
  const again = providerAfter(open, provider.due, provider.probeSent, provider.failed(0, 1, 900));
  t.like(again.context, { until: 1_400, opensInRow: 2, probeSent: false, changedAt: 900 });
});

test('a probe is one job, and may be sent again when it came back without a verdict', (t) => {
  const probing = providerAfter(newProvider(), provider.limited(), provider.due);
  t.like(probing.context, { until: null, probeSent: false, limitsInRow: 1 });
  const sent = providerAfter(probing, provider.probeSent);
  t.true(sent.context.probeSent);
  t.false(providerAfter(sent, provider.probeReturned).context.probeSent);
});

test('a probe after a limit that fails for another reason makes room for the next one', (t) => {
  const sent = providerAfter(newProvider(), provider.limited(), provider.due, provider.probeSent);
  t.like(providerAfter(sent, provider.failed(0.1, 20)).context, {
    probeSent: false,
    opensInRow: 0,
    limitsInRow: 1,
  });
});

test('a success after a probe, and a reset from everywhere, forget all trouble', (t) => {
  const probed = providerAfter(newProvider(), provider.failed(), provider.due, provider.probeSent);
  const fresh = { until: null, limitsInRow: 0, opensInRow: 0, probeSent: false };
  t.like(providerAfter(probed, provider.succeeded).context, fresh);
  for (const snapshot of Object.values(providersInEveryState())) {
    t.like(providerAfter(snapshot, provider.reset).context, { ...fresh, changedAt: provider.reset.at });
  }
});

test('work is sent to a provider only while it is available or probed', (t) => {
  for (const [name, snapshot] of Object.entries(providersInEveryState())) {
    t.is(snapshot.hasTag('assignable'), name === 'available' || name === 'probing', name);
    t.is(snapshot.context.until === null, snapshot.hasTag('assignable'), name);
  }
});

test('the supervisor accepts and assigns only where its state allows it', (t) => {
  for (const snapshot of Object.values(supervisorsInEveryState())) {
    const { admission } = snapshot.value;
    t.is(snapshot.hasTag('dispatching'), admission === 'accepting' || admission === 'paused', admission);
    t.is(snapshot.hasTag('assigning'), admission === 'accepting', admission);
  }
});
