import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { inChunks } from '../../../lib/chunks.ts';
import { jsonPieces } from '../../../lib/jsonPieces.ts';
import { presentJob } from '../../../present/job.ts';
import type { JobFilter } from '../../../store/store.ts';

/** Every job that the filter takes, whole, one a line; made as it is read. */
export function exportLines(
  coordinator: Coordinator,
  filter: JobFilter,
  isArchivedToo: boolean,
): AsyncGenerator<string> {
  return inChunks(pieces(coordinator, filter, isArchivedToo));
}

async function* pieces(
  coordinator: Coordinator,
  filter: JobFilter,
  isArchivedToo: boolean,
): AsyncGenerator<string> {
  for await (const jobs of coordinator.scan(filter, isArchivedToo)) {
    for (const job of jobs) {
      yield* jsonPieces(presentJob(coordinator.view(job)));
      yield '\n';
    }
  }
}
