import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { jsonPieces } from '../../../lib/jsonPieces.ts';
import { ownTurn } from '../../../lib/nextTurn.ts';
import { presentJob } from '../../../present/job.ts';
import type { JobFilter } from '../../../store/store.ts';
import { Query, type RawQuery } from '../../query.ts';
import { readFilter } from './schema.ts';

/** Characters that are collected before they are sent. */
const chunkCharacters = 64 * 1024;

/** The query of GET /api/jobs/export. @throws CoordinatorError invalid_request. */
export function parseExport(raw: RawQuery): { filter: JobFilter; isArchivedToo: boolean } {
  const query = new Query(raw);
  const filter = readFilter(query);
  const isArchivedToo = query.words('archived', ['true', 'false'] as const).at(-1) === 'true';
  query.done();
  return { filter, isArchivedToo };
}

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
