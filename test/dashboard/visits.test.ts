import test from 'ava';
import type { Chart } from '../../src/dashboard/statechart/chart.ts';
import { jobChart } from '../../src/dashboard/statechart/charts/job.ts';
import { supervisorChart } from '../../src/dashboard/statechart/charts/supervisor.ts';
import { workerChart } from '../../src/dashboard/statechart/charts/worker.ts';
import { takenBy, visitsOf, withAncestors } from '../../src/dashboard/statechart/visits.ts';
import type { WireHistoryEntry } from '../../src/domain/wire/job.ts';

const begin = Date.parse('2026-11-21T09:00:00.000Z');
const at = (seconds: number) => new Date(begin + seconds * 1_000).toISOString();

/** Waits 10 s, runs 5 s, is stuck 20 s, waits 1 s, runs 4 s. */
const entries: WireHistoryEntry[] = [
  { at: at(0), event: null, from: null, to: 'pending.ready', attempt: null },
  { at: at(10), event: 'job.assigned', from: 'pending.ready', to: 'running.active', attempt: 1 },
  { at: at(15), event: 'job.workerLost', from: 'running.active', to: 'running.stuck', attempt: 1 },
  { at: at(35), event: 'job.retried', from: 'running.stuck', to: 'pending.ready', attempt: 1 },
  { at: at(36), event: 'job.assigned', from: 'pending.ready', to: 'running.active', attempt: 2 },
  { at: at(40), event: 'job.completed', from: 'running.active', to: 'completed', attempt: 2 },
];

const told = (visits: ReturnType<typeof visitsOf>) =>
  Object.fromEntries([...visits].map(([path, { count, ms }]) => [path, [count, ms / 1_000]]));

/** The arrows as text, in the order in which they were gone along. */
const way = (chart: Chart, change: Parameters<typeof takenBy>[1]) =>
  [...takenBy(chart, change).keys()].map((index) => {
    const edge = chart.edges[index];
    return `${edge?.from} → ${edge?.to}`;
  });

test('a state has those around it', (t) => {
  t.deepEqual(withAncestors('a.b.c'), ['a.b.c', 'a.b', 'a']);
});

test('visits are counted and their time is added up; moving inside of a state is no new visit to it', (t) => {
  t.deepEqual(told(visitsOf(entries, entries.length, begin + 50_000)), {
    'pending.ready': [2, 11],
    pending: [2, 11],
    'running.active': [2, 9],
    running: [2, 29],
    'running.stuck': [1, 20],
    completed: [1, 10],
  });
});

test('an earlier moment knows nothing of what came later', (t) => {
  t.deepEqual(told(visitsOf(entries, 2, begin + 12_000)), {
    'pending.ready': [1, 10],
    pending: [1, 10],
    'running.active': [1, 2],
    running: [1, 2],
  });
  t.deepEqual(told(visitsOf(entries, 0, begin)), {});
});

test('a clock that is behind makes no negative time', (t) => {
  t.deepEqual(told(visitsOf(entries, 1, begin - 5_000)), { 'pending.ready': [1, 0], pending: [1, 0] });
});

test('the way of a change goes through initial marks and states that are left at once', (t) => {
  t.deepEqual(way(jobChart, { event: null, from: null, to: 'pending.delayed' }), [
    'null → pending',
    'null → pending.queued',
    'pending.queued → pending.delayed',
  ]);
  t.deepEqual(way(jobChart, { event: 'job.assigned', from: 'pending.ready', to: 'running.active' }), [
    'pending.ready → running',
    'null → running.active',
  ]);
});

test('an event that leads to several states is marked on the arrow that was gone along, and only its line', (t) => {
  const requeued = { event: 'job.attemptFailed', from: 'running.active', to: 'pending.ready' };
  const failed = { event: 'job.attemptFailed', from: 'running.stuck', to: 'failed' };
  t.is(way(jobChart, requeued)[0], 'running → pending');
  t.deepEqual(way(jobChart, failed), ['running → failed']);
  const [[edge, of] = [-1, []]] = takenBy(jobChart, failed);
  t.deepEqual(
    of.map((index) => jobChart.edges[edge]?.transitions[index]?.event),
    ['job.attemptFailed'],
  );
});

test('the innermost state that knows an event is the one that takes it', (t) => {
  t.deepEqual(way(jobChart, { event: 'job.retried', from: 'running.stuck', to: 'pending.ready' }), [
    'running.stuck → pending',
    'null → pending.queued',
    'pending.queued → pending.ready',
  ]);
});

test('what leaves every state is found too, also through a state that is left at once', (t) => {
  t.deepEqual(
    way(workerChart, { event: 'worker.connected', from: 'disconnected', to: 'paused.responsive' }),
    ['* → connecting', 'connecting → paused', 'null → paused.responsive'],
  );
});

test('every change of state that the machines can make has its arrow', (t) => {
  for (const chart of [jobChart, workerChart, supervisorChart]) {
    for (const edge of chart.edges) {
      const target = chart.states.find(({ path }) => path === edge.to);
      if (edge.from === null || edge.from === '*' || target?.kind !== 'atomic') continue;
      for (const { event } of edge.transitions) {
        if (event !== null) {
          t.true(
            takenBy(chart, { event, from: edge.from, to: edge.to }).size > 0,
            `${edge.from} → ${edge.to}`,
          );
        }
      }
    }
  }
});

test('a change that the chart does not know marks nothing', (t) => {
  t.is(takenBy(jobChart, { event: 'job.new', from: 'completed', to: 'failed' }).size, 0);
});
