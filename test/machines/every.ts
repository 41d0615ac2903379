import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { batchMachine } from '../../machines/batchMachine.ts';
import { healthMachine } from '../../machines/healthMachine.ts';
import { jobMachine } from '../../machines/jobMachine.ts';
import { leaseMachine } from '../../machines/leaseMachine.ts';
import { providerMachine } from '../../machines/providerMachine.ts';
import { runMachine } from '../../machines/runMachine.ts';
import { supervisorMachine } from '../../machines/supervisorMachine.ts';
import { workerMachine } from '../../machines/workerMachine.ts';
import type { JobLife } from '../../src/domain/job.ts';
import type { MachineName } from '../../src/domain/machine.ts';
import {
  batchStatuses,
  healthStatuses,
  jobStatuses,
  leasePhases,
  providerStatuses,
  runStatuses,
  workerStatuses,
} from '../../src/domain/states.ts';
import { batch, batchesInEveryState, newBatch } from './batches.ts';
import {
  health,
  healthInEveryState,
  lease,
  leasesInEveryState,
  newHealth,
  newLease,
  newProvider,
  newSupervisor,
  newWorker,
  provider,
  providersInEveryState,
  supervisor,
  supervisorsInEveryState,
  worker,
  workersInEveryState,
} from './fleet.ts';
import { jobsInEveryState, make, newJob, targetOf } from './jobs.ts';
import { newRun, run, runsInEveryState } from './runs.ts';

/** A machine with what is needed to walk through all of it. */
export interface Walk {
  machine: AnyStateMachine;
  /** The words that the dictionary has for its top states. */
  statuses: readonly string[];
  /** States in which its life may end; from each state one of them must be in reach. */
  ends: readonly string[];
  initial: AnyMachineSnapshot;
  /** A snapshot in every state. */
  situations: Record<string, AnyMachineSnapshot>;
  /** One event of each sort, made for the snapshot that meets it. */
  events: (snapshot: AnyMachineSnapshot) => EventObject[];
}

const next = targetOf('b');
const jobEvents = [
  make.due,
  make.assigned,
  make.cancelled,
  make.completed(),
  make.failed('auth'),
  make.failed('auth', { next }),
  make.failed('rate_limited'),
  make.failed('network'),
  make.failed('server_error'),
  make.failed('overloaded'),
  make.keyRevoked,
  make.workerLost,
  make.workerReturned,
  make.timedOut(),
  make.reaped(),
  make.reaped('lost', { maxReaps: 0 }),
  make.released,
  make.retried(),
  make.usageReported({ lease: 1 }),
];

export const walks: Record<MachineName, Walk> = {
  job: {
    machine: jobMachine,
    statuses: jobStatuses,
    ends: ['completed', 'failed', 'cancelled'],
    initial: newJob({ notBefore: 5_000 }),
    situations: jobsInEveryState(),
    events: (snapshot) => jobEvents.map((maker) => maker(snapshot.context as JobLife)),
  },
  lease: {
    machine: leaseMachine,
    statuses: leasePhases,
    ends: ['ended'],
    initial: newLease(),
    situations: leasesInEveryState(),
    events: () => Object.values(lease),
  },
  worker: {
    machine: workerMachine,
    statuses: workerStatuses,
    ends: ['disconnected'],
    initial: newWorker(),
    situations: workersInEveryState(),
    events: () => Object.values(worker).map((event) => (typeof event === 'function' ? event() : event)),
  },
  health: {
    machine: healthMachine,
    statuses: healthStatuses,
    ends: ['well'],
    initial: newHealth(),
    situations: healthInEveryState(),
    events: () => Object.values(health).map((event) => (typeof event === 'function' ? event() : event)),
  },
  provider: {
    machine: providerMachine,
    statuses: providerStatuses,
    ends: ['available'],
    initial: newProvider(),
    situations: providersInEveryState(),
    events: () => Object.values(provider).map((event) => (typeof event === 'function' ? event() : event)),
  },
  run: {
    machine: runMachine,
    statuses: runStatuses,
    ends: ['cancelled'],
    initial: newRun(),
    situations: runsInEveryState(),
    events: () => Object.values(run),
  },
  batch: {
    machine: batchMachine,
    statuses: batchStatuses,
    ends: ['completed', 'failed', 'expired', 'cancelled'],
    initial: newBatch(),
    situations: batchesInEveryState(),
    events: () => Object.values(batch),
  },
  supervisor: {
    machine: supervisorMachine,
    statuses: ['admission', 'assigning', 'watching'],
    ends: ['admission.stopped'],
    initial: newSupervisor(),
    situations: supervisorsInEveryState(),
    events: () => Object.values(supervisor),
  },
};
