import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { jsonPieces } from '../../../lib/jsonPieces.ts';
import { ownTurn } from '../../../lib/nextTurn.ts';
import { presentJob } from '../../../present/job.ts';
import type { JobFilter } from '../../../store/store.ts';

/** Characters that are collected before they are sent. */
const chunkCharacters = 64 * 1024;

/** Every job that the filter takes, whole, one a line; made as it is read, and others get a turn after each chunk. */
export async function* exportLines(
  coordinator: Coordinator,
  filter: JobFilter,
  isArchivedToo: boolean,
): AsyncGenerator<string> {
  let text = '';
  for await (const jobs of coordinator.scan(filter, isArchivedToo)) {
    for (const job of jobs) {
      for (const piece of jsonPieces(presentJob(coordinator.view(job)))) {
        text += piece;
        if (text.length < chunkCharacters) continue;
        yield text;
        text = '';
        await ownTurn();
      }
      text += '\n';
    }
  }
  if (text !== '') yield text;
}
