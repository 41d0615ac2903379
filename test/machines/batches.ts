import { type AnyMachineSnapshot, getInitialSnapshot, type SnapshotFrom } from 'xstate';
import { batchMachine } from '../../machines/batchMachine.ts';
import type { BatchEvent } from '../../machines/events.ts';
import { next } from './stateTable.ts';

type BatchSnapshot = SnapshotFrom<typeof batchMachine>;

export function newBatch(): BatchSnapshot {
  return getInitialSnapshot(batchMachine);
}

const result = {
  completed: 2,
  failed: 1,
  inputTokens: 10,
  cachedInputTokens: 0,
  outputTokens: 20,
  reasoningTokens: 0,
  nanoDollars: 5,
  outputFileId: 'o',
  errorFileId: 'e',
};

export const batch = {
  validated: { type: 'batch.validated', lines: 3, at: 10 },
  refused: {
    type: 'batch.refused',
    faults: [{ line: 2, code: 'invalid_json_line', message: 'It is not JSON', param: null }],
    at: 10,
  },
  ended: { type: 'batch.ended', at: 20 },
  reopened: { type: 'batch.reopened' },
  expired: { type: 'batch.expired', at: 15 },
  cancelled: { type: 'batch.cancelled', at: 16 },
  written: { type: 'batch.written', result, at: 30 },
} as const satisfies Record<string, BatchEvent>;

export function batchAfter(snapshot: AnyMachineSnapshot, ...events: readonly BatchEvent[]): BatchSnapshot {
  return events.reduce<AnyMachineSnapshot>(
    (before, event) => next(batchMachine, before, event),
    snapshot,
  ) as BatchSnapshot;
}

export function batchesInEveryState(): Record<string, BatchSnapshot> {
  const { validated, refused, ended, expired, cancelled, written } = batch;
  return {
    validating: newBatch(),
    in_progress: batchAfter(newBatch(), validated),
    expiring: batchAfter(newBatch(), validated, expired),
    cancelling: batchAfter(newBatch(), validated, cancelled),
    finalizing: batchAfter(newBatch(), validated, ended),
    completed: batchAfter(newBatch(), validated, ended, written),
    failed: batchAfter(newBatch(), refused),
    expired: batchAfter(newBatch(), validated, expired, written),
    cancelled: batchAfter(newBatch(), cancelled, written),
  };
}
