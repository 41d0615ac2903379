import test from 'ava';
import type { AnyStateMachine } from 'xstate';
import { createMachine } from 'xstate';
import { layOut } from '../../src/charts/layout.ts';
import { graphOf } from '../../src/charts/machineGraph.ts';
import { machineDefinitions } from '../../src/coordinator/observe/machineDefinitions.ts';
import {
  anyState,
  type Box,
  type Chart,
  type ChartState,
  type Point,
} from '../../src/dashboard/statechart/chart.ts';
import { jobChart } from '../../src/dashboard/statechart/charts/job.ts';
import { walks } from '../machines/every.ts';

function draw(machine: AnyStateMachine): Promise<Chart> {
  return layOut(graphOf(machine));
}

function isInside(inner: Box, outer: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

function doOverlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function isOnBorder([x, y]: Point, box: Box): boolean {
  const isBeside = x === box.x || x === box.x + box.width;
  const isAbove = y === box.y || y === box.y + box.height;
  const isWithinX = x >= box.x && x <= box.x + box.width;
  const isWithinY = y >= box.y && y <= box.y + box.height;
  return (isBeside && isWithinY) || (isAbove && isWithinX);
}

function parentOf({ path }: ChartState): string {
  return path.split('.').slice(0, -1).join('.');
}

for (const [name, { machine }] of Object.entries(walks)) {
  test(`the picture of the ${name} has every transition that the API tells of, each once`, async (t) => {
    const { edges, internal, states, description, initial } = await draw(machine);
    const definition = machineDefinitions.get(name);
    t.like(definition, { description, initial });
    const told = [
      ...(definition?.transitions ?? []).map((one) => ({ from: anyState, ...one })),
      ...(definition?.states ?? []).flatMap(({ path, transitions }) =>
        transitions.map((one) => ({ from: path, ...one })),
      ),
    ].map(({ from, target, event, guard }) => `${from} → ${target} on ${event} if ${guard}`);
    const drawn = [
      ...edges.flatMap(({ from, to, transitions }) =>
        transitions.map((one) => ({ from, target: to, ...one })),
      ),
      ...internal.map(({ state, ...one }) => ({ from: state, target: null, ...one })),
    ].map(({ from, target, event, guard }) => `${from} → ${target} on ${event} if ${guard}`);
    t.deepEqual(drawn.sort(), told.sort());
    const shown = states
      .filter(({ path }) => path !== anyState)
      .map(({ path, kind, description }) => ({ path, kind, description }));
    t.deepEqual(
      shown,
      definition?.states.map(({ path, kind, description }) => ({ path, kind, description })),
    );
  });

  test(`in the picture of the ${name} nothing hides anything else`, async (t) => {
    const { width, height, states, edges } = await draw(machine);
    const picture = { x: 0, y: 0, width, height };
    const leaves = states.filter(({ kind }) => kind !== 'compound');
    for (const state of states) {
      const parent = states.find(({ path }) => path === parentOf(state));
      t.true(isInside(state.box, parent?.box ?? picture), `${state.path} stands inside of its parent`);
      for (const other of states) {
        if (other !== state && parentOf(other) === parentOf(state)) {
          t.false(doOverlap(state.box, other.box), `${state.path} and ${other.path}`);
        }
      }
    }
    const labels = edges.flatMap(({ label, lines }) => (label === null ? [] : [{ label, lines }]));
    for (const { label, lines } of labels) {
      const text = lines.map((line) => line.text).join(' ');
      t.true(isInside(label, picture), text);
      for (const { box, path } of leaves) t.false(doOverlap(label, box), `${text} and ${path}`);
      for (const other of labels) if (other.label !== label) t.false(doOverlap(label, other.label), text);
    }
  });

  test(`in the picture of the ${name} every arrow goes from the edge of one state to that of the other`, async (t) => {
    const { states, edges } = await draw(machine);
    const boxes = new Map(states.map(({ path, box }) => [path, box]));
    for (const { from, to, points } of edges) {
      const first = points[0] ?? [0, 0];
      const last = points.at(-1) ?? [0, 0];
      const source = from === null ? null : boxes.get(from);
      const target = boxes.get(to);
      t.true(target !== undefined && isOnBorder(last, target), `${from} → ${to} ends at ${to}`);
      if (source !== null) t.true(source !== undefined && isOnBorder(first, source), `${from} → ${to}`);
    }
  });
}

test('the picture that a page imports is the one that was laid out', async (t) => {
  t.deepEqual(await draw(walks.job.machine), jobChart);
});

test('delays, guards and ends stand in the picture', async (t) => {
  const machine = createMachine({
    id: 'kettle',
    description: 'Heats water.',
    initial: 'cold',
    states: {
      cold: { description: 'Off.', after: { 5000: 'warm', patience: { target: 'left', guard: 'isLate' } } },
      warm: { description: 'On.', on: { drink: 'left' } },
      left: { description: 'Done.', type: 'final' },
    },
  });
  const { edges, states, internal } = await draw(machine);
  const [toWarm, toLeft] = edges;
  t.deepEqual(toWarm?.lines, [{ text: 'after 5000 ms', of: [0] }]);
  t.deepEqual(toLeft?.lines, [
    { text: 'after patience', of: [0] },
    { text: '[isLate]', of: [0] },
  ]);
  t.deepEqual(
    states.map(({ path, kind, isEnd }) => [path, kind, isEnd]),
    [
      ['cold', 'atomic', false],
      ['warm', 'atomic', false],
      ['left', 'final', true],
    ],
  );
  t.deepEqual(internal, []);
});

test('a kind of state that the pictures cannot show is refused, not drawn wrong', (t) => {
  const machine = createMachine({ id: 'two', type: 'parallel', states: { a: {}, b: {} } });
  const nested = createMachine({ id: 'one', initial: 'both', states: { both: machine.config } });
  t.throws(() => graphOf(nested), { message: /^two is a parallel state/ });
});
