import test from 'ava';
import fc from 'fast-check';
import { type AnyStateMachine, assign, createMachine, raise, setup, transition } from 'xstate';
import { withTurn } from '../../machines/jobLife.ts';
import { type JobEffect, jobMachine } from '../../machines/jobMachine.ts';
import { Runner, type Stepped } from '../../machines/runner.ts';
import { stateValueOf } from '../../machines/statePath.ts';
import { TransitionMemory } from '../../machines/transitionMemory.ts';
import type { JobLife } from '../../src/domain/job.ts';
import type { JobState } from '../../src/domain/states.ts';
import { inputOf, make, newJob } from './jobs.ts';
import { lives } from './lives.ts';
import { pathOf } from './stateTable.ts';

const newRunner = () => new Runner<typeof jobMachine, JobState, JobEffect>(jobMachine, withTurn);

/** What XState makes of an event, without a runner. */
function decided(
  state: JobState,
  context: JobLife,
  event: Parameters<typeof withTurn>[1],
): Stepped<JobLife, JobState, object> | null {
  const before = jobMachine.resolveState({ value: stateValueOf(state), context } as Parameters<
    typeof jobMachine.resolveState
  >[0]);
  const [after, actions] = transition(jobMachine, before, event);
  if (after === before) return null;
  const to = pathOf(after) as JobState;
  const effects = actions
    .filter(({ type }) => !type.startsWith('xstate.'))
    .map(({ type, params }) => ({ type, ...(params as object | undefined) }));
  return { from: state, to, context: withTurn(after.context, event, to), effects };
}

test('whatever happens to jobs, what is remembered is what XState decides', (t) => {
  // One for all lives: most of their steps are remembered.
  const runner = newRunner();
  let steps = 0;
  fc.assert(
    fc.property(lives, ([notBefore, chain, makers]) => {
      const first = newJob({ notBefore, chain });
      let resting = { state: pathOf(first) as JobState, context: first.context };
      for (const maker of makers) {
        const event = maker(resting.context);
        const stepped = runner.step(runner.restore(resting), event);
        t.deepEqual<unknown, unknown>(stepped, decided(resting.state, resting.context, event));
        steps += 1;
        if (stepped !== null) resting = { state: stepped.to, context: stepped.context };
      }
    }),
    { numRuns: 400 },
  );
  t.true(steps > 2_000, `${steps} steps`);
});

test('XState decides each case once, and every time while somebody watches', (t) => {
  const runner = newRunner();
  const decisions = (watch: boolean) => {
    let seen = 0;
    const resting = runner.begin(inputOf());
    const actor = runner.restore(
      resting,
      watch ? { inspect: ({ type }) => (seen += Number(type === '@xstate.microstep')) } : {},
    );
    const assigned = runner.step(actor, make.assigned(resting.context));
    const life = assigned?.context ?? resting.context;
    t.is(runner.step(actor, make.completed()(life))?.to, 'completed');
    return seen;
  };
  const whileWatched = decisions(true);
  t.true(whileWatched > 0);
  decisions(false);
  t.is(decisions(true), whileWatched);
});

test('an actor whose steps are remembered has the snapshots that XState makes', (t) => {
  const runner = newRunner();
  for (let round = 0; round < 3; round += 1) {
    const resting = runner.begin(inputOf());
    const actor = runner.restore(resting);
    runner.step(actor, make.assigned(resting.context));
    const { value, status, tags, context } = actor.getSnapshot();
    t.deepEqual([value, status, [...tags]], [{ running: 'active' }, 'active', []]);
    runner.step(actor, make.completed()(context));
    t.true(actor.getSnapshot().hasTag('terminal'));
    t.true(actor.getSnapshot().matches('completed'));
    t.is(runner.step(actor, make.cancelled(context)), null);
  }
});

const guards = { isHigh: ({ context }: { context: { n: number } }) => context.n > 1 };
const { createMachine: counting } = setup({
  types: { context: {} as { n: number }, events: {} as { type: 'go' | 'throw' } },
  guards: {
    ...guards,
    throws: () => {
      throw new Error('no guard');
    },
  },
  actions: { add: assign(({ context }) => ({ n: context.n + 1 })), tell: () => {} },
});

test('a guard that throws does so each time, and a context is only its own', (t) => {
  const machine = counting({
    context: { n: 0 },
    initial: 'low',
    states: {
      low: {
        always: { guard: 'isHigh', target: 'high' },
        on: { go: { actions: ['add', 'tell'] }, throw: { guard: 'throws', target: 'high' } },
      },
      high: { on: { go: 'low' } },
    },
  });
  const runner = new Runner<typeof machine, string, { type: string }>(machine);
  for (let round = 0; round < 3; round += 1) {
    const actor = runner.restore({ state: 'low', context: { n: 0 } });
    const first = { from: 'low', to: 'low', context: { n: 1 }, effects: [{ type: 'tell' }] };
    t.deepEqual(runner.step(actor, { type: 'go' }), first);
    const second = { ...first, to: 'high', context: { n: 2 } };
    t.deepEqual(runner.step(actor, { type: 'go' }), second);
    const third = runner.restore({ state: 'low', context: { n: 0 } });
    t.throws(() => runner.step(third, { type: 'throw' }), { message: /no guard/ });
  }
});

const others: Record<string, AnyStateMachine> = {
  'parallel states': createMachine({ type: 'parallel', states: { a: {}, b: {} } }),
  'a final state': createMachine({ initial: 'a', states: { a: { on: { go: 'b' } }, b: { type: 'final' } } }),
  'an action of a state': counting({ context: { n: 0 }, initial: 'a', states: { a: { exit: 'add' } } }),
  'an action without a name': createMachine({ on: { go: { actions: () => {} } } }),
  'a guard without a name': createMachine({ on: { go: { guard: () => true } } }),
  'an event by wildcard': createMachine({ initial: 'a', states: { a: { on: { '*': 'b' } }, b: {} } }),
  'parameters that are a function': counting({
    context: { n: 0 },
    on: { go: { actions: { type: 'tell', params: () => ({}) } } },
  }),
  'an event that is raised': setup({ actions: { again: raise({ type: 'go' }) } }).createMachine({
    on: { go: { actions: 'again' } },
  }),
  'a wait': createMachine({ initial: 'a', states: { a: { after: { 10: 'b' } }, b: {} } }),
};

for (const [what, machine] of Object.entries(others)) {
  test(`nothing is remembered of a machine with ${what}`, (t) => {
    t.is(TransitionMemory.of(machine), null);
  });
}

test('that of jobs is remembered', (t) => {
  t.not(TransitionMemory.of(jobMachine), null);
});
