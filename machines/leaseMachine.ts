import { setup } from 'xstate';
import type { LeaseEvent } from './events.ts';
import { transitionTable } from './transitionTable.ts';

/**
 * One slot taken on one worker for one attempt. There are as many as jobs run, and an actor each would cost a tenth of what
 * a job costs. So it remembers nothing here, its transitions have neither guards nor actions, and `leaseTransitions`, read off
 * the machine once, says where each event leads.
 */
export const leaseMachine = setup({
  types: { events: {} as LeaseEvent },
}).createMachine({
  id: 'lease',
  description: 'One slot taken on one worker, from the choice of the worker until the slot is free.',
  initial: 'assigning',
  states: {
    assigning: {
      description: 'A worker is chosen; the commit of the assignment is under way.',
      on: {
        'lease.assigned': 'running',
        'lease.abandoned': 'ended',
      },
    },
    running: {
      description: 'The worker has the job.',
      on: {
        'lease.concluded': 'ended',
        'lease.aborted': {
          target: 'ending',
          description: 'The worker is to stop, and its slot is not free before it has.',
        },
      },
    },
    ending: {
      description: 'The job has ended without the word of its worker; the slot stays taken until that word.',
      on: {
        'lease.concluded': 'ended',
        'lease.workerLost': 'ended',
        'lease.expired': 'ended',
      },
    },
    ended: {
      description: 'The slot is free.',
      type: 'final',
    },
  },
});

/** Where each event of a lease leads from each of its phases. */
export const leaseTransitions = transitionTable(leaseMachine);
