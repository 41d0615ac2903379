import { assign, setup } from 'xstate';
import type { ProviderEvent } from './events.ts';
import * as breaker from './providerBreaker.ts';
import type { Of, ProviderLife } from './providerLife.ts';
import * as life from './providerLife.ts';

/** Rate limit and circuit breaker of one provider, over all workers that serve it. */
export const providerMachine = setup({
  types: {
    context: {} as ProviderLife,
    input: {} as { name: string; at: number },
    events: {} as ProviderEvent,
  },
  guards: {
    isLonger: ({ context, event }) =>
      event.type === 'provider.limited' && life.limitedUntil(context, event) > (context.until ?? 0),
    isTooBad: ({ context, event }) => event.type === 'provider.failed' && breaker.isTooBad(context, event),
    isStillBad: ({ context, event }) =>
      event.type === 'provider.failed' && breaker.isStillBad(context, event),
    isOfProbe: ({ context, event }) => 'began' in event && life.isOfProbe(context, event),
    isRamping: ({ context }) => context.ramp !== null,
    isNewWorker: ({ context, event }) =>
      event.type === 'provider.workerCame' && life.isNewWorker(context, event),
  },
  actions: {
    limit: assign(({ context, event }) => life.limit(context, event as Of<'provider.limited'>)),
    limitMore: assign(({ context, event }) => life.limitMore(context, event as Of<'provider.limited'>)),
    extend: assign(({ context, event }) => life.extend(context, event as Of<'provider.limited'>)),
    count: assign(({ context, event }) =>
      life.count(context, event as Of<'provider.succeeded' | 'provider.failed'>),
    ),
    open: assign(({ context, event }) => life.open(context, event as Of<'provider.failed'>)),
    succeed: assign(({ context, event }) => life.succeed(context, event as Of<'provider.succeeded'>)),
    climb: assign(({ context }) => life.climb(context)),
    comeBack: assign(({ context, event }) =>
      life.comeBack(context, event as Of<'provider.succeeded' | 'provider.streamed'>),
    ),
    reset: assign(({ context, event }) => life.reset(context, event as Of<'provider.reset'>)),
    probe: assign(({ context, event }) =>
      life.probe(context, event as Of<'provider.due' | 'provider.workerCame'>),
    ),
    sendProbe: assign(({ context }) => life.sendProbe(context)),
    returnProbe: assign(({ context }) => life.returnProbe(context)),
    countAndReturnProbe: assign(({ context, event }) =>
      life.countAndReturnProbe(context, event as Of<'provider.failed'>),
    ),
  },
}).createMachine({
  id: 'provider',
  description:
    'Whether a provider may be sent work: its rate limit, its circuit breaker and its slow return.',
  context: ({ input }) => life.beginLife(input),
  initial: 'available',
  on: {
    'provider.reset': {
      target: '.available',
      actions: 'reset',
      description: 'An operator takes it for available, whatever it is.',
    },
  },
  states: {
    available: {
      description: 'Takes requests; after a limit or an open breaker only as many as its slow return allows.',
      on: {
        'provider.limited': { target: 'limited', actions: 'limit' },
        'provider.failed': [{ guard: 'isTooBad', target: 'open', actions: 'open' }, { actions: 'count' }],
        'provider.succeeded': { actions: 'succeed' },
        'provider.streamed': { guard: 'isRamping', actions: 'climb' },
      },
    },
    limited: {
      description: 'Answered 429: nothing is sent until the time it named.',
      on: {
        'provider.limited': [{ guard: 'isLonger', actions: 'extend' }, { actions: 'limitMore' }],
        'provider.failed': { actions: 'count' },
        'provider.succeeded': { actions: 'count' },
        'provider.due': { target: 'probing', actions: 'probe' },
      },
    },
    open: {
      description: 'Too many of its attempts failed: nothing is sent for a while.',
      on: {
        'provider.failed': { actions: 'count' },
        'provider.succeeded': { actions: 'count' },
        'provider.due': { target: 'probing', actions: 'probe' },
        'provider.workerCame': {
          guard: 'isNewWorker',
          target: 'probing',
          actions: 'probe',
          description: 'The new worker may reach what the others cannot.',
        },
      },
    },
    probing: {
      description: 'One job is sent to see whether it is back: its first output shows that, or its end.',
      on: {
        'provider.probeSent': { actions: 'sendProbe' },
        'provider.probeReturned': { guard: 'isOfProbe', actions: 'returnProbe' },
        'provider.succeeded': { target: 'available', actions: 'comeBack' },
        'provider.streamed': { guard: 'isOfProbe', target: 'available', actions: 'comeBack' },
        'provider.limited': { target: 'limited', actions: 'limit' },
        // After a limit alone one job that fails is no worse than one among many, and another worker may be better off:
        // the next job is the probe then.
        'provider.failed': [
          { guard: 'isStillBad', target: 'open', actions: 'open' },
          { actions: 'countAndReturnProbe' },
        ],
      },
    },
  },
});
