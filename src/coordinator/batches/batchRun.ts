import type { RunBatch } from '../../domain/batch.ts';
import type { RunRecord } from '../../domain/run.ts';

/** A run that is a batch. */
export type BatchRun = RunRecord & { batch: RunBatch };

export function isBatch(run: RunRecord): run is BatchRun {
  return run.batch !== undefined;
}
