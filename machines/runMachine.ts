import { assign, setup } from 'xstate';
import type { RunLife, RunLimits } from '../src/domain/run.ts';
import type { RunStatus } from '../src/domain/states.ts';
import type { RunEvent } from './events.ts';
import { Runner } from './runner.ts';

type Of<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>;

/** A run: jobs that belong together under a name. What its jobs do is theirs; this says whether they may start. */
export const runMachine = setup({
  types: {
    context: {} as RunLife,
    input: {} as RunLimits,
    events: {} as RunEvent,
  },
  guards: {
    isPausedByLimit: ({ context }) => context.pause !== null && context.pause.reason !== 'operator',
  },
  actions: {
    pause: assign(({ event }) => {
      const { reason, detail, at } = event as Of<'run.paused'>;
      return { pause: { reason, detail, at } };
    }),
    setLimits: assign(({ event }) => ({ limits: (event as Of<'run.resumed'>).limits })),
    unpause: assign({ pause: null }),
    finish: assign(({ event }) => ({ finishedAt: (event as Of<'run.ended' | 'run.cancelled'>).at })),
    unfinish: assign({ finishedAt: null }),
  },
}).createMachine({
  id: 'run',
  description: 'Jobs that belong together under a name: whether those that wait may start.',
  context: ({ input }) => ({ limits: input, pause: null, finishedAt: null }),
  initial: 'running',
  states: {
    running: {
      description: 'Its jobs are handed out, or it has none yet.',
      on: {
        'run.ended': { target: 'completed', actions: 'finish' },
        'run.paused': { target: 'paused', actions: 'pause' },
        'run.resumed': { actions: 'setLimits', description: 'Only its limits change.' },
        'run.cancelled': { target: 'cancelled', actions: 'finish' },
      },
    },
    paused: {
      description: 'None of its waiting jobs starts; running ones continue.',
      on: {
        'run.ended': {
          guard: 'isPausedByLimit',
          target: 'completed',
          actions: ['unpause', 'finish'],
          description: 'What ran when the limit was reached was all there was.',
        },
        'run.resumed': { target: 'running', actions: ['setLimits', 'unpause'] },
        'run.cancelled': { target: 'cancelled', actions: ['unpause', 'finish'] },
      },
    },
    completed: {
      description: 'Every job has ended, however it ended.',
      on: {
        'run.refilled': { target: 'running', actions: 'unfinish' },
        'run.resumed': { actions: 'setLimits', description: 'Only its limits change.' },
      },
    },
    cancelled: {
      type: 'final',
      description: 'Its jobs were cancelled, and it takes no more.',
    },
  },
});

/** Runs it. */
export const runRunner = new Runner<typeof runMachine, RunStatus, never>(runMachine);
