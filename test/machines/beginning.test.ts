import test from 'ava';
import fc from 'fast-check';
import { createActor } from 'xstate';
import { beginning } from '../../machines/jobLife.ts';
import { jobMachine } from '../../machines/jobMachine.ts';
import { targetOf } from './jobs.ts';

test('what is stored of a new job is the snapshot in which the machine begins', (t) => {
  const times = fc.integer({ min: 0, max: 10 });
  fc.assert(
    fc.property(times, fc.option(times, { nil: null }), (createdAt, notBefore) => {
      const input = {
        strategy: 'fallback' as const,
        target: targetOf('a'),
        chain: [targetOf('b')],
        route: [],
        priority: 'high',
        createdAt,
        notBefore,
      };
      const { value, context } = createActor(jobMachine, { input }).getSnapshot();
      const { state, life } = beginning(input);
      const [parent, child] = state.split('.');
      t.deepEqual(value, { [String(parent)]: child });
      t.deepEqual(context, life);
    }),
  );
});
