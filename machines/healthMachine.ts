import { assign, setup } from 'xstate';
import type { Failure, Fault } from '../src/domain/failure.ts';
import type { HealthEvent } from './events.ts';

/** The context of the health machine. Plain JSON. */
export interface HealthLife {
  workerId: string;
  provider: string;
  /** null: jobs that name none, or all of the provider when the fault is the provider's. */
  model: string | null;
  fault: Fault;
  /** The last failure that counted; null before the first. */
  failure: Failure | null;
  /** Epoch ms of that failure. */
  at: number;
  /** Epoch ms until which the worker is passed over; null when it is not known or not so. */
  until: number | null;
  /** Failures without a success in between, but for those that came while it was passed over. */
  inRow: number;
}

type Of<T extends HealthEvent['type']> = Extract<HealthEvent, { type: T }>;

/** One fault of one worker at one provider, or at one model of it: whether the worker is passed over for it. */
export const healthMachine = setup({
  types: {
    context: {} as HealthLife,
    input: {} as Pick<HealthLife, 'workerId' | 'provider' | 'model' | 'fault'> & { at: number },
    events: {} as HealthEvent,
    tags: {} as 'passedOver',
  },
  guards: {
    /** So many failures in a row are no accident. */
    isEnough: ({ context, event }) => event.type === 'health.failed' && context.inRow + 1 >= event.enough,
  },
  actions: {
    count: assign(({ context, event }) => {
      const { failure, at } = event as Of<'health.failed'>;
      return { ...context, failure, at, inRow: context.inRow + 1 };
    }),
    setAside: assign(({ context, event }) => {
      const { failure, at, until } = event as Of<'health.failed'>;
      return { ...context, failure, at, until, inRow: context.inRow + 1 };
    }),
    endTime: assign(({ context }) => ({ ...context, until: null })),
    forget: assign(({ context }) => ({ ...context, failure: null, until: null, inRow: 0 })),
  },
}).createMachine({
  id: 'health',
  description: 'One fault of one worker at one provider, or at one of its models: whether others go first.',
  context: ({ input }) => ({ ...input, failure: null, until: null, inRow: 0 }),
  initial: 'well',
  states: {
    well: {
      description: 'Takes jobs like any other worker.',
      on: {
        'health.failed': [{ guard: 'isEnough', target: 'aside', actions: 'setAside' }, { actions: 'count' }],
        'health.succeeded': { actions: 'forget' },
      },
    },
    aside: {
      description: 'Passed over until a time; failures of jobs that were on their way change nothing.',
      tags: 'passedOver',
      on: {
        'health.due': { target: 'due', actions: 'endTime' },
        'health.succeeded': { target: 'well', actions: 'forget' },
      },
    },
    due: {
      description: 'The next job is a trial.',
      on: {
        'health.trialSent': 'trying',
        'health.failed': { target: 'aside', actions: 'setAside' },
        'health.succeeded': { target: 'well', actions: 'forget' },
      },
    },
    trying: {
      description: 'One job shows whether it can again: its first output, or its end.',
      tags: 'passedOver',
      on: {
        'health.trialReturned': 'due',
        'health.failed': { target: 'aside', actions: 'setAside' },
        'health.succeeded': { target: 'well', actions: 'forget' },
      },
    },
  },
});
