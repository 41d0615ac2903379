import test from 'ava';
import type { AnyMachineSnapshot } from 'xstate';
import { adjacencyMapToArray, getAdjacencyMap, getShortestPaths } from 'xstate/graph';
import { type Walk, walks } from './every.ts';
import { newSupervisor, supervisor, supervisorAfter } from './fleet.ts';
import { leaves, pathOf, pathsOf } from './stateTable.ts';

function traversal({ events }: Walk, fromState: AnyMachineSnapshot) {
  return { fromState, events, serializeState: (snapshot: AnyMachineSnapshot) => pathOf(snapshot) };
}

for (const [name, walk] of Object.entries(walks)) {
  test(`every state of the ${name} is reached from its first one`, (t) => {
    const paths = getShortestPaths(walk.machine, traversal(walk, walk.initial));
    t.deepEqual(
      [...new Set(paths.flatMap(({ state }) => pathsOf(state)))].sort(),
      leaves(walk.machine).sort(),
    );
  });

  for (const [from, snapshot] of Object.entries(walk.situations)) {
    test(`a ${name} that is ${from} can still become ${walk.ends.join(' or ')}`, (t) => {
      const paths = getShortestPaths(walk.machine, traversal(walk, snapshot));
      t.true(paths.some(({ state }) => pathsOf(state).some((path) => walk.ends.includes(path))));
    });
  }

  test(`the walk through the ${name} takes every sort of event`, (t) => {
    const edges = adjacencyMapToArray(getAdjacencyMap(walk.machine, traversal(walk, walk.initial)));
    const taken = edges.filter(({ state, event }) => state.can(event)).map(({ event }) => event.type);
    // A map by state alone keeps one context a state, in which the usage of lease 1 may be known or not yet given.
    const types = walk.machine.events.filter((type) => type !== 'job.usageReported');
    t.deepEqual(
      types.filter((type) => !taken.includes(type)),
      [],
    );
  });
}

test('a completed and a cancelled job stay what they are for ever', (t) => {
  const { job } = walks;
  for (const end of ['completed', 'cancelled']) {
    const snapshot = job.situations[end];
    if (!snapshot) return t.fail(end);
    t.deepEqual(
      getShortestPaths(job.machine, traversal(job, snapshot)).map(({ state }) => pathOf(state)),
      [end],
    );
  }
});

test('a stopped supervisor is done', (t) => {
  t.is(newSupervisor().status, 'active');
  t.is(supervisorAfter(supervisor.stop).status, 'done');
});
