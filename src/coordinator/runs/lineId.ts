import { hash } from 'node:crypto';
import { idOf, millisecondOf, shardOf } from '../jobs/index.ts';

/**
 * The id of the job of a line: made of the run's id and the line's, so that the same line is the same job, no matter who sends it
 * and however often, for ever and without a list. A UUIDv7 of the run's millisecond and shard.
 */
export function jobIdOf(runId: string, lineId: string): string {
  const rest = hash('sha256', `${runId}/${lineId}`, 'buffer').subarray(0, 10);
  return idOf(millisecondOf(runId), rest, shardOf(runId));
}
