import { setup } from 'xstate';
import type { SupervisorEvent } from './events.ts';

/** The coordinator as a whole: what it accepts and whether it hands out work. */
export const supervisorMachine = setup({
  types: {
    events: {} as SupervisorEvent,
    tags: {} as 'dispatching' | 'assigning' | 'listening',
  },
  guards: {
    /** The queue was paused when the coordinator stopped. */
    wasPaused: ({ event }) => event.type === 'supervisor.recovered' && event.paused,
  },
}).createMachine({
  id: 'supervisor',
  description: 'The fleet as a whole: whether jobs are accepted and whether they are handed out.',
  initial: 'starting',
  states: {
    starting: {
      description: 'The process is up; the store is not open yet.',
      on: { 'supervisor.open': 'recovering', 'supervisor.stop': 'stopped' },
    },
    recovering: {
      description: 'The journal is replayed and every lease gets fresh grace; nothing is accepted.',
      on: {
        'supervisor.recovered': [{ guard: 'wasPaused', target: 'paused' }, { target: 'accepting' }],
        'supervisor.stop': 'stopped',
      },
    },
    accepting: {
      description: 'Jobs are accepted and handed out.',
      tags: ['dispatching', 'assigning', 'listening'],
      on: { 'supervisor.pause': 'paused', 'supervisor.drain': 'draining', 'supervisor.stop': 'stopped' },
    },
    paused: {
      description:
        'An operator has paused the queue: jobs are accepted and wait, none is handed out. What runs goes on.',
      tags: ['dispatching', 'listening'],
      on: { 'supervisor.resume': 'accepting', 'supervisor.drain': 'draining', 'supervisor.stop': 'stopped' },
    },
    draining: {
      description:
        'No job is accepted or handed out; results are taken until the leases end or the grace is over.',
      tags: 'listening',
      on: { 'supervisor.stop': 'stopped' },
    },
    stopped: {
      description: 'The store is closed.',
      type: 'final',
    },
  },
});
