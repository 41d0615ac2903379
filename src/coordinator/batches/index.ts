/*
 * Batches: runs whose lines come from a file. Promises that no line runs before all of them are right; that each line is one
 * job and ends up in exactly one of two files, once; and that those files never change. Nothing of it hangs on a process:
 * how far a batch is follows from its state and the jobs of its run, so after a crash what is under way is begun again, to
 * the same end. How lines are read and answers written is the `BatchFormat`'s.
 */

export { Batches, type BatchKey, type NewBatch } from './batches.ts';
export {
  type BatchAnswer,
  type BatchFormat,
  type BatchLine,
  BatchLineFault,
  type Untried,
} from './batchFormat.ts';
export { BatchHost } from './batchHost.ts';
export type { BatchRun } from './batchRun.ts';
export { BatchWatch } from './batchWatch.ts';
