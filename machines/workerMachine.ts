import { assign, setup } from 'xstate';
import { type WorkerLife, wantedSlots } from '../src/domain/worker.ts';
import type { WorkerEvent } from './events.ts';

type Of<T extends WorkerEvent['type']> = Extract<WorkerEvent, { type: T }>;

/** A worker as the coordinator knows it, by name: whether it is here and whether it takes work. */
export const workerMachine = setup({
  types: {
    context: {} as WorkerLife,
    input: {} as WorkerLife,
    events: {} as WorkerEvent,
    tags: {} as 'active' | 'assignable',
  },
  guards: {
    isPaused: ({ context }) => context.paused,
  },
  actions: {
    /**
     * What the hello says replaces what was known; `paused` is the operator's and stays. A concurrency that was set by
     * PATCH outlives the hello until the worker's own setting changes.
     */
    register: assign(({ context, event }) => {
      const { hello, owner, at } = event as Of<'worker.connected'>;
      const wanted =
        hello.concurrency === context.declaredConcurrency ? wantedSlots(context) : hello.concurrency;
      return {
        ...context,
        ...hello,
        ...(owner === undefined ? {} : { owner }),
        concurrency: wanted,
        wantedConcurrency: wanted,
        declaredConcurrency: hello.concurrency,
        connectedAt: at,
        lastHeartbeatAt: at,
      };
    }),
    hear: assign(({ context, event }) => ({ ...context, lastHeartbeatAt: event.at })),
    setPaused: assign(({ context }) => ({ ...context, paused: true })),
    setResumed: assign(({ context }) => ({ ...context, paused: false })),
    resize: assign(({ context, event }) => {
      const { concurrency } = event as Of<'worker.resized'>;
      return { ...context, concurrency, wantedConcurrency: concurrency };
    }),
    limit: assign(({ context, event }) => ({
      ...context,
      concurrency: (event as Of<'worker.limited'>).concurrency,
      wantedConcurrency: wantedSlots(context),
    })),
    setModels: assign(({ context, event }) => ({
      ...context,
      models: (event as Of<'worker.modelsChanged'>).models,
    })),
    leave: assign(({ context }) => ({ ...context, connectedAt: null })),
  },
}).createMachine({
  id: 'worker',
  description: 'A worker, known by its name: connected or not, taking work or not.',
  context: ({ input }) => input,
  initial: 'disconnected',
  on: {
    'worker.resized': { actions: 'resize' },
    'worker.limited': { actions: 'limit' },
    'worker.connected': {
      target: '.connecting',
      actions: 'register',
      description: 'The same worker process takes over its own older connection.',
    },
  },
  states: {
    disconnected: {
      description: 'Known by name, not here. Pause and resume are remembered for its return.',
      on: {
        'worker.paused': { actions: 'setPaused' },
        'worker.resumed': { actions: 'setResumed' },
      },
    },
    connecting: {
      description: 'Passed through at once: a paused worker comes back paused.',
      always: [{ guard: 'isPaused', target: 'paused' }, { target: 'active' }],
    },
    active: {
      description: 'Connected and takes work.',
      tags: 'active',
      initial: 'responsive',
      on: {
        'worker.draining': 'draining',
        'worker.disconnected': { target: 'disconnected', actions: 'leave' },
        'worker.modelsChanged': { actions: 'setModels' },
      },
      states: {
        responsive: {
          description: 'Its frames come in time.',
          tags: 'assignable',
          on: {
            'worker.paused': { target: '#worker.paused.responsive', actions: 'setPaused' },
            'worker.late': 'late',
            'worker.heard': { actions: 'hear' },
          },
        },
        late: {
          description: 'One heartbeat is missing: no new work until it speaks.',
          on: {
            'worker.paused': { target: '#worker.paused.late', actions: 'setPaused' },
            'worker.heard': { target: 'responsive', actions: 'hear' },
          },
        },
      },
    },
    paused: {
      description: 'An operator said: no new work. Jobs that run keep running.',
      initial: 'responsive',
      on: {
        'worker.draining': 'draining',
        'worker.disconnected': { target: 'disconnected', actions: 'leave' },
        'worker.modelsChanged': { actions: 'setModels' },
      },
      states: {
        responsive: {
          description: 'Its frames come in time.',
          on: {
            'worker.resumed': { target: '#worker.active.responsive', actions: 'setResumed' },
            'worker.late': 'late',
            'worker.heard': { actions: 'hear' },
          },
        },
        late: {
          description: 'One heartbeat is missing: a resume gives no new work until it speaks.',
          on: {
            'worker.resumed': { target: '#worker.active.late', actions: 'setResumed' },
            'worker.heard': { target: 'responsive', actions: 'hear' },
          },
        },
      },
    },
    draining: {
      description: 'The worker itself wants no more work and finishes what runs.',
      on: {
        'worker.paused': { actions: 'setPaused' },
        'worker.resumed': { actions: 'setResumed' },
        'worker.disconnected': { target: 'disconnected', actions: 'leave' },
        'worker.heard': { actions: 'hear' },
        'worker.modelsChanged': { actions: 'setModels' },
      },
    },
  },
});
