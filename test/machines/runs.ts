import { type AnyMachineSnapshot, getInitialSnapshot, type SnapshotFrom } from 'xstate';
import type { RunEvent } from '../../machines/events.ts';
import { runMachine } from '../../machines/runMachine.ts';
import type { RunLimits } from '../../src/domain/run.ts';
import { next } from './stateTable.ts';

type RunSnapshot = SnapshotFrom<typeof runMachine>;

const limits: RunLimits = { maxCost: 1_000, maxFailures: null, deadline: null };

export function newRun(): RunSnapshot {
  return getInitialSnapshot(runMachine, limits);
}

export const run = {
  ended: { type: 'run.ended', at: 10 },
  refilled: { type: 'run.refilled' },
  pausedByLimit: { type: 'run.paused', reason: 'max_cost', detail: 'spent', at: 20 },
  pausedByOperator: { type: 'run.paused', reason: 'operator', detail: 'ann paused it', at: 30 },
  resumed: { type: 'run.resumed', limits: { ...limits, maxCost: 2_000 } },
  cancelled: { type: 'run.cancelled', at: 40 },
} as const satisfies Record<string, RunEvent>;

export function runAfter(snapshot: AnyMachineSnapshot, ...events: readonly RunEvent[]): RunSnapshot {
  return events.reduce<AnyMachineSnapshot>(
    (before, event) => next(runMachine, before, event),
    snapshot,
  ) as RunSnapshot;
}

export function runsInEveryState(): Record<string, RunSnapshot> {
  return {
    running: newRun(),
    paused: runAfter(newRun(), run.pausedByLimit),
    completed: runAfter(newRun(), run.ended),
    cancelled: runAfter(newRun(), run.cancelled),
  };
}
