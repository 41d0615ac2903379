import { and, not, setup, stateIn } from 'xstate';
import type { SupervisorEvent } from './events.ts';

/** A timer that runs this much later than it was set to means that this process stood still, not that others died. */
export const stallMs = 1_000;

/**
 * The coordinator as a whole, in three regions: what it accepts, when it hands out jobs, and when it looks at heartbeats
 * and deadlines. Its events come at most once a pass, however many jobs that has: an event takes some 6 µs.
 */
export const supervisorMachine = setup({
  types: {
    events: {} as SupervisorEvent,
    tags: {} as 'dispatching' | 'assigning',
  },
  guards: {
    /** The queue was paused when the coordinator stopped. */
    wasPaused: ({ event }) => event.type === 'supervisor.recovered' && event.paused,
    /** By the state before the event: the regions handle it at once. */
    mayBegin: and([stateIn({ admission: 'recovering' }), not('wasPaused')]),
    isPaused: stateIn({ admission: 'paused' }),
    isAccepting: stateIn({ admission: 'accepting' }),
    hasMore: ({ event }) => event.type === 'pass.ended' && event.hasMore,
    mayPassAgain: and(['hasMore', 'isAccepting']),
    hasStalled: ({ event }) => event.type === 'deadline.reached' && event.lateMs > stallMs,
  },
  actions: {
    /** The coordinator provides these. */
    startPass: () => {},
    startPause: () => {},
    startSweep: () => {},
    giveGrace: () => {},
  },
}).createMachine({
  id: 'supervisor',
  description:
    'The fleet as a whole: whether jobs are accepted, when they are handed out, and when heartbeats and deadlines are looked at.',
  type: 'parallel',
  states: {
    admission: {
      description: 'Whether jobs are accepted and whether they are handed out.',
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
          tags: ['dispatching', 'assigning'],
          on: { 'supervisor.pause': 'paused', 'supervisor.drain': 'draining', 'supervisor.stop': 'stopped' },
        },
        paused: {
          description:
            'An operator has paused the queue: jobs are accepted and wait, none is handed out. What runs goes on.',
          tags: 'dispatching',
          on: {
            'supervisor.resume': 'accepting',
            'supervisor.drain': 'draining',
            'supervisor.stop': 'stopped',
          },
        },
        draining: {
          description:
            'No job is accepted or handed out; results are taken until the leases end or the grace is over.',
          on: { 'supervisor.stop': 'stopped' },
        },
        stopped: { description: 'The store is closed.', type: 'final' },
      },
    },
    assigning: {
      description: 'When jobs are handed to workers.',
      initial: 'idle',
      states: {
        idle: {
          description: 'No pass is under way: since the last one nothing has changed that lets a job start.',
          on: {
            'work.arrived': { guard: 'isAccepting', target: 'passing' },
            'slot.freed': { guard: 'isAccepting', target: 'passing' },
            'supervisor.recovered': { guard: 'mayBegin', target: 'passing' },
            'supervisor.resume': { guard: 'isPaused', target: 'passing' },
            'supervisor.stop': 'stopped',
          },
        },
        passing: {
          description:
            'A pass looks at every lane that has ready jobs and hands out what free slots can take.',
          entry: 'startPass',
          on: {
            'pass.ended': [{ guard: 'mayPassAgain', target: 'passing', reenter: true }, { target: 'idle' }],
            'pass.failed': 'backingOff',
            'supervisor.stop': 'stopped',
          },
        },
        backingOff: {
          description: 'The store refused a pass; there is another one after a pause.',
          entry: 'startPause',
          on: {
            'retry.due': [{ guard: 'isAccepting', target: 'passing' }, { target: 'idle' }],
            'supervisor.stop': 'stopped',
          },
        },
        stopped: { description: 'No job is handed out any more.', type: 'final' },
      },
    },
    watching: {
      description: 'When heartbeats and deadlines are looked at.',
      initial: 'waiting',
      states: {
        waiting: {
          description: 'The timer is set to the earliest deadline.',
          on: {
            'deadline.reached': [
              { guard: 'hasStalled', target: 'sweeping', actions: 'giveGrace' },
              { target: 'sweeping' },
            ],
            'stall.noticed': { actions: 'giveGrace' },
            'supervisor.stop': 'stopped',
          },
        },
        sweeping: {
          description: 'Whatever is due runs: silent workers, stale leases, timeouts, delays, probes.',
          entry: 'startSweep',
          on: { 'sweep.ended': 'waiting', 'supervisor.stop': 'stopped' },
        },
        stopped: { description: 'Nothing is watched any more.', type: 'final' },
      },
    },
  },
});
