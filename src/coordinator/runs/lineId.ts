import { hash } from 'node:crypto';
import { idOf, millisecondOf, shardOf } from '../jobs/index.ts';

/** An id that only this run has, for what it makes besides jobs: the same for ever. @param what no line is called so. */
export function ownIdOf(runId: string, what: string): string {
  return jobIdOf(runId, `\0${what}`);
}

/**
 * The id of the job of a line: made of the run's id and the line's, so that the same line is the same job, no matter who sends it
 * and however often, for ever and without a list. A UUIDv7 of the run's millisecond and shard.
 */
export function jobIdOf(runId: string, lineId: string): string {
  const rest = hash('sha256', `${runId}/${lineId}`, 'buffer').subarray(0, 10);
  return idOf(millisecondOf(runId), rest, shardOf(runId));
}
