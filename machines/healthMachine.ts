import { assign, setup } from 'xstate';
import type { HealthEvent } from './events.ts';
import type { HealthInput, HealthLife, Of } from './healthLife.ts';
import * as life from './healthLife.ts';

/** One fault of one worker at one provider, or at one model of it: whether the worker is passed over for it. */
export const healthMachine = setup({
  types: {
    context: {} as HealthLife,
    input: {} as HealthInput,
    events: {} as HealthEvent,
    tags: {} as 'passedOver',
  },
  guards: {
    isEnough: ({ context }) => life.isEnough(context),
    isNews: ({ context, event }) => event.type === 'health.failed' && life.isNews(context, event),
    isTrial: ({ context, event }) => event.type === 'health.trialReturned' && life.isTrial(context, event),
  },
  actions: {
    count: assign(({ context, event }) => life.count(context, event as Of<'health.failed'>)),
    setAside: assign(({ context, event }) => life.setAside(context, event as Of<'health.failed'>)),
    endTime: assign(({ context }) => life.endTime(context)),
    sendTrial: assign(({ context, event }) => life.sendTrial(context, event as Of<'health.trialSent'>)),
    returnTrial: assign(({ context }) => life.returnTrial(context)),
    forget: assign(({ context }) => life.forget(context)),
  },
}).createMachine({
  id: 'health',
  description: 'One fault of one worker at one provider, or at one of its models: whether others go first.',
  context: ({ input }) => life.beginLife(input),
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
        'health.trialSent': { target: 'trying', actions: 'sendTrial' },
        'health.failed': { guard: 'isNews', target: 'aside', actions: 'setAside' },
        'health.succeeded': { target: 'well', actions: 'forget' },
      },
    },
    trying: {
      description: 'One job shows whether it can again: its first output, or its end.',
      tags: 'passedOver',
      on: {
        'health.trialReturned': { guard: 'isTrial', target: 'due', actions: 'returnTrial' },
        'health.failed': { guard: 'isNews', target: 'aside', actions: 'setAside' },
        'health.succeeded': { target: 'well', actions: 'forget' },
      },
    },
  },
});
