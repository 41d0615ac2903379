import test from 'ava';
import fc from 'fast-check';
import { type AnyMachineSnapshot, createActor, type InspectionEvent, isMachineSnapshot, setup } from 'xstate';
import { jobMachine, jobRunner } from '../../machines/jobMachine.ts';
import { type Resting, Runner } from '../../machines/runner.ts';
import { inputOf } from './jobs.ts';
import { pathOf } from './stateTable.ts';

function restingOf(snapshot: AnyMachineSnapshot): Resting<unknown, string> {
  return { state: pathOf(snapshot), context: snapshot.context };
}

test('a new job is what an actor of the machine begins with', (t) => {
  const times = fc.integer({ min: 0, max: 10 });
  fc.assert(
    fc.property(times, fc.option(times, { nil: null }), (createdAt, notBefore) => {
      const input = inputOf({ priority: 'high', createdAt, notBefore });
      const began = restingOf(createActor(jobMachine, { input }).getSnapshot());
      t.deepEqual<object, object>(jobRunner.begin(input), began);
    }),
  );
});

test('a job that is watched begins as the same, and the watcher sees it', (t) => {
  for (const notBefore of [null, 5_000]) {
    const input = inputOf({ notBefore });
    const seen: InspectionEvent[] = [];
    t.deepEqual(jobRunner.begin(input, { inspect: (event) => seen.push(event) }), jobRunner.begin(input));
    const [first] = seen.filter(({ type }) => type === '@xstate.snapshot');
    if (first?.type !== '@xstate.snapshot' || !isMachineSnapshot(first.snapshot)) return t.fail();
    t.is(first.event.type, 'xstate.init');
    t.deepEqual<object, object>(restingOf(first.snapshot), jobRunner.begin(input));
  }
});

interface Input {
  isOld: boolean;
  isBig: boolean;
}

const { createMachine, assign } = setup({
  types: { context: {} as Input & { seen: number }, input: {} as Input, events: {} as { type: 'go' } },
  guards: {
    isOld: ({ context }) => context.isOld,
    isBig: ({ context }) => context.isBig,
    wasSeen: ({ context }) => context.seen > 0,
  },
});

/** The states are gone through one after the other, each with a guard. */
const plain = createMachine({
  context: ({ input }) => ({ ...input, seen: 0 }),
  initial: 'first',
  states: {
    first: { always: [{ guard: 'isOld', target: 'old' }, { target: 'young' }] },
    old: {
      initial: 'measured',
      states: { measured: { always: { guard: 'isBig', target: 'big' } }, big: {} },
    },
    young: { always: { guard: 'isBig', target: 'old.big' } },
  },
});

/** What is done on the way decides where it ends. */
const acting = createMachine({
  context: ({ input }) => ({ ...input, seen: 0 }),
  initial: 'first',
  states: {
    first: { entry: assign({ seen: 1 }), always: [{ guard: 'wasSeen', target: 'last' }] },
    last: {},
  },
});

for (const [name, machine] of Object.entries({ plain, acting })) {
  test(`whatever the guards on the way say, a machine begins where XState does, with the first input and later: ${name}`, (t) => {
    const runner = new Runner(machine);
    for (const isOld of [true, false, true, false]) {
      for (const isBig of [true, false]) {
        const input = { isOld, isBig };
        const began = restingOf(createActor(machine, { input }).getSnapshot());
        t.deepEqual<object, object>(runner.begin(input), began);
      }
    }
  });
}

test('an error of the machine is thrown where it is run: at the beginning, and by an event', (t) => {
  const broken = setup({
    types: { context: {} as { left: number }, input: {} as number, events: {} as { type: 'go' } },
    guards: {
      isOver: () => {
        throw new Error('a bug of ours');
      },
    },
  }).createMachine({
    context: ({ input }) => ({ left: input }),
    initial: 'here',
    states: {
      here: { on: { go: { guard: 'isOver', target: 'there' } } },
      there: { always: { guard: 'isOver' } },
    },
  });
  const runner = new Runner(broken);
  t.throws(() => runner.begin(1), { message: 'a bug of ours' });
  const actor = runner.restore({ state: 'here', context: { left: 1 } });
  t.throws(() => runner.step(actor, { type: 'go' }), { message: /a bug of ours/ });
});
