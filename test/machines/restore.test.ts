import test from 'ava';
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type Snapshot } from 'xstate';
import { jobRunner } from '../../machines/jobMachine.ts';
import { type JobState, jobStates } from '../../src/domain/states.ts';
import { type Walk, walks } from './every.ts';
import { jobsInEveryState, newJob } from './jobs.ts';
import { isTransient, kept, leaves, pathOf, stateNodes, stateValueOf } from './stateTable.ts';

function restored(machine: AnyStateMachine, snapshot: Snapshot<unknown>): AnyMachineSnapshot {
  const actor = createActor(machine, { snapshot });
  actor.subscribe({ error: () => {} });
  const now = actor.start().getSnapshot();
  actor.stop();
  return now;
}

function accepts({ events }: Walk, snapshot: AnyMachineSnapshot): string[] {
  return events(snapshot).flatMap((event) => (snapshot.can(event) ? [JSON.stringify(event)] : []));
}

for (const [name, walk] of Object.entries(walks)) {
  for (const [state, snapshot] of Object.entries(walk.situations)) {
    test(`a ${name} that is ${state} comes back from its persisted snapshot as it was`, (t) => {
      const json = JSON.stringify(walk.machine.getPersistedSnapshot(snapshot));
      const back = restored(walk.machine, JSON.parse(json));
      t.is(pathOf(back), state);
      t.is(back.status, snapshot.status);
      t.deepEqual(back.context, snapshot.context);
      t.deepEqual([...back.tags], [...snapshot.tags]);
      t.deepEqual(accepts(walk, back), accepts(walk, snapshot));
    });

    test(`a ${name} that is ${state} comes back from the path of its state and its context`, (t) => {
      const context = JSON.parse(JSON.stringify(snapshot.context ?? {}));
      const built = walk.machine.resolveState({ value: stateValueOf(state), context });
      const back = restored(walk.machine, built);
      t.deepEqual(kept(walk.machine, back), kept(walk.machine, snapshot));
      t.deepEqual(accepts(walk, back), accepts(walk, snapshot));
    });
  }

  test(`the top states of the ${name} are the words of the dictionary`, (t) => {
    const tops = Object.values(walk.machine.states).filter((node) => !isTransient(node));
    t.deepEqual(tops.map(({ key }) => key).sort(), [...walk.statuses].sort());
  });
}

test('the paths of the dictionary are the states in which a job can rest', (t) => {
  t.deepEqual([...jobStates].sort(), leaves(walks.job.machine).sort());
});

for (const [state, snapshot] of Object.entries(jobsInEveryState())) {
  test(`a job that is ${state} is restored by its runner as XState restores it`, (t) => {
    const { machine } = walks.job;
    const actor = jobRunner.restore({ state: state as JobState, context: snapshot.context });
    const back: AnyMachineSnapshot = actor.getSnapshot();
    t.is<string, string>(jobRunner.stateOf(actor), state);
    t.deepEqual(kept(machine, back), kept(machine, snapshot));
    t.deepEqual([...back.tags], [...snapshot.tags]);
    t.deepEqual(accepts(walks.job, back), accepts(walks.job, snapshot));
  });
}

test('only queued and connecting are passed through', (t) => {
  const transient = Object.values(walks).flatMap(({ machine }) => stateNodes(machine).filter(isTransient));
  t.deepEqual(transient.map(({ key }) => key).sort(), ['connecting', 'queued']);
});

test('a snapshot in a state that is no more comes back as an error: a renamed state needs an upcaster', (t) => {
  const { machine } = walks.job;
  const snapshot = { ...(kept(machine, newJob()) as Snapshot<unknown>), value: { pending: 'waiting' } };
  t.is(restored(machine, snapshot).status, 'error');
});
