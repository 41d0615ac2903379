import { assign, setup } from 'xstate';
import type { ProviderEvent } from './events.ts';

/** The context of the provider machine. Plain JSON. */
export interface ProviderLife {
  name: string;
  /** Epoch ms until which nothing is sent; null when it is available. */
  until: number | null;
  /** Limits in a row, for a back-off that grows. */
  limitsInRow: number;
  /** Times in a row that the breaker opened. */
  opensInRow: number;
  /** Whether the one job of a probe is under way. */
  probeSent: boolean;
  changedAt: number;
}

type Of<T extends ProviderEvent['type']> = Extract<ProviderEvent, { type: T }>;

function isTooBad({ attempts, openMinimum, failureRatio, openRatio, workersLeft }: Of<'provider.failed'>) {
  return attempts >= openMinimum && failureRatio >= openRatio && workersLeft === 0;
}

/** Rate limit and circuit breaker of one provider, over all workers that serve it. */
export const providerMachine = setup({
  types: {
    context: {} as ProviderLife,
    input: {} as { name: string; at: number },
    events: {} as ProviderEvent,
    tags: {} as 'assignable',
  },
  guards: {
    /** Enough attempts in the window, too many of them failed, and no worker is left that can. */
    isTooBad: ({ event }) => event.type === 'provider.failed' && isTooBad(event),
    /** The same, or its breaker has opened, nothing has succeeded since, and no worker is left to probe with. */
    isStillBad: ({ context, event }) =>
      event.type === 'provider.failed' &&
      (isTooBad(event) || (context.opensInRow > 0 && event.workersLeft === 0)),
    /** Whether it lasts longer than what is known already. */
    isLonger: ({ context, event }) => event.type === 'provider.limited' && event.until > (context.until ?? 0),
  },
  actions: {
    limit: assign(({ context, event }) => {
      const { until, at } = event as Of<'provider.limited'>;
      return { ...context, until, limitsInRow: context.limitsInRow + 1, probeSent: false, changedAt: at };
    }),
    extend: assign(({ context, event }) => ({ ...context, until: (event as Of<'provider.limited'>).until })),
    open: assign(({ context, event }) => {
      const { openUntil, at } = event as Of<'provider.failed'>;
      return {
        ...context,
        until: openUntil,
        opensInRow: context.opensInRow + 1,
        probeSent: false,
        changedAt: at,
      };
    }),
    recover: assign(({ context, event }) => ({
      ...context,
      until: null,
      limitsInRow: 0,
      opensInRow: 0,
      probeSent: false,
      changedAt: event.at,
    })),
    forgive: assign(({ context }) => ({ ...context, limitsInRow: 0, opensInRow: 0 })),
    probe: assign(({ context, event }) => ({
      ...context,
      until: null,
      probeSent: false,
      changedAt: event.at,
    })),
    sendProbe: assign(({ context }) => ({ ...context, probeSent: true })),
    returnProbe: assign(({ context }) => ({ ...context, probeSent: false })),
  },
}).createMachine({
  id: 'provider',
  description: 'Whether a provider may be sent work: its rate limit and its circuit breaker.',
  context: ({ input }) => ({
    name: input.name,
    until: null,
    limitsInRow: 0,
    opensInRow: 0,
    probeSent: false,
    changedAt: input.at,
  }),
  initial: 'available',
  states: {
    available: {
      description: 'Takes requests.',
      tags: 'assignable',
      on: {
        'provider.limited': { target: 'limited', actions: 'limit' },
        'provider.failed': { guard: 'isTooBad', target: 'open', actions: 'open' },
        'provider.succeeded': { actions: 'forgive' },
        'provider.reset': { actions: 'recover' },
      },
    },
    limited: {
      description: 'Answered 429: nothing is sent until the time it named.',
      on: {
        'provider.limited': { guard: 'isLonger', actions: 'extend' },
        'provider.due': { target: 'probing', actions: 'probe' },
        'provider.reset': { target: 'available', actions: 'recover' },
      },
    },
    open: {
      description: 'Too many of its attempts failed: nothing is sent for a while.',
      on: {
        'provider.due': { target: 'probing', actions: 'probe' },
        'provider.reset': { target: 'available', actions: 'recover' },
      },
    },
    probing: {
      description: 'One job is sent to see whether it is back: its first output tells, or its end.',
      tags: 'assignable',
      on: {
        'provider.probeSent': { actions: 'sendProbe' },
        'provider.probeReturned': { actions: 'returnProbe' },
        'provider.succeeded': { target: 'available', actions: 'recover' },
        'provider.limited': { target: 'limited', actions: 'limit' },
        // After a limit alone one job that fails is no worse than one among many, and another worker may be better off:
        // the next job is the probe then.
        'provider.failed': [
          { guard: 'isStillBad', target: 'open', actions: 'open' },
          { actions: 'returnProbe' },
        ],
        'provider.reset': { target: 'available', actions: 'recover' },
      },
    },
  },
});
