import { assign, setup } from 'xstate';
import type { BatchLife } from '../src/domain/batch.ts';
import type { BatchStatus } from '../src/domain/states.ts';
import type { BatchEvent } from './events.ts';
import { Runner } from './runner.ts';

type Of<T extends BatchEvent['type']> = Extract<BatchEvent, { type: T }>;

/** A batch: how far its file is. Its jobs are those of its run. */
export const batchMachine = setup({
  types: {
    context: {} as BatchLife,
    events: {} as BatchEvent,
  },
  actions: {
    start: assign(({ event }) => {
      const { lines, at } = event as Of<'batch.validated'>;
      return { lines, startedAt: at };
    }),
    refuse: assign(({ event }) => {
      const { faults, at } = event as Of<'batch.refused'>;
      return { faults, finishedAt: at };
    }),
    expire: assign(({ event }) => ({ expiringAt: (event as Of<'batch.expired'>).at })),
    cancel: assign(({ event }) => ({ cancellingAt: (event as Of<'batch.cancelled'>).at })),
    finalize: assign(({ event }) => ({ finalizingAt: (event as Of<'batch.ended'>).at })),
    reopen: assign({ finalizingAt: null }),
    finish: assign(({ event }) => {
      const { result, faults = [], at } = event as Of<'batch.written'>;
      return { result, faults, finishedAt: at };
    }),
  },
}).createMachine({
  id: 'batch',
  description: 'A file of requests: read, run line by line, and answered in two files.',
  context: {
    lines: null,
    faults: [],
    startedAt: null,
    expiringAt: null,
    cancellingAt: null,
    finalizingAt: null,
    finishedAt: null,
    result: null,
  },
  initial: 'validating',
  states: {
    validating: {
      description: 'Its file is read; no job is made before every line is known to be right.',
      on: {
        'batch.validated': { target: 'in_progress', actions: 'start' },
        'batch.refused': { target: 'failed', actions: 'refuse' },
        'batch.cancelled': { target: 'cancelling', actions: 'cancel' },
      },
    },
    in_progress: {
      description: 'Its lines become jobs, a part of them at a time, and run.',
      on: {
        'batch.ended': { target: 'finalizing', actions: 'finalize' },
        'batch.expired': { target: 'expiring', actions: 'expire' },
        'batch.cancelled': { target: 'cancelling', actions: 'cancel' },
      },
    },
    expiring: {
      description:
        'Its window is over: what waits is cancelled, what runs may end; then its files are written.',
      on: {
        'batch.written': { target: 'expired', actions: 'finish' },
        'batch.cancelled': { target: 'cancelling', actions: 'cancel' },
      },
    },
    cancelling: {
      description: 'Somebody cancelled it: its jobs are cancelled, then its files are written.',
      on: { 'batch.written': { target: 'cancelled', actions: 'finish' } },
    },
    finalizing: {
      description: 'Every line has its end: its files are written.',
      on: {
        'batch.written': { target: 'completed', actions: 'finish' },
        'batch.reopened': { target: 'in_progress', actions: 'reopen' },
      },
    },
    completed: {
      type: 'final',
      description: 'Its files are there, whether its lines succeeded or not.',
    },
    failed: {
      type: 'final',
      description: 'Its file was refused; nothing ran.',
    },
    expired: {
      type: 'final',
      description: 'Its files are there; not every line was tried in time.',
    },
    cancelled: {
      type: 'final',
      description: 'Its files have what had ended by then.',
    },
  },
});

/** Runs it. */
export const batchRunner = new Runner<typeof batchMachine, BatchStatus, never>(batchMachine);
