import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { JobRecord, JobResult } from '../../../domain/job.ts';
import { noFilter } from '../../../domain/jobFilter.ts';
import type { Principal } from '../../../domain/key.ts';
import type { RawQuery } from '../../../http/query.ts';
import { own } from '../../../lib/own.ts';
import { invalidField } from '../errors.ts';
import type { PageRequest } from '../paging.ts';
import { headingOf } from './completion.ts';
import { readableChat, shownMetadata } from './find.ts';
import { keyLengthMax, pairsMax } from './storedOperations.ts';

interface Wanted {
  model: string | null;
  metadata: readonly (readonly [name: string, value: string])[];
}

/** The filters of a list. @throws OpenAiError invalid_value. */
export function readWanted(query: RawQuery): Wanted {
  const { model } = query;
  if (Array.isArray(model)) throw invalidField('model', 'may be given once');
  const metadata = Object.entries(query).flatMap(([field, value]) => {
    const name = /^metadata\[(.*)\]$/.exec(field)?.[1];
    if (name === undefined || value === undefined) return [];
    if (typeof value === 'string') return [[name, value] as const];
    throw invalidField(field.slice(0, keyLengthMax), 'may be given once');
  });
  if (metadata.length > pairsMax) throw invalidField('metadata', `must have at most ${pairsMax} entries`);
  return { model: model ?? null, metadata };
}

/** The job after which a page begins. One that was deleted since the last page still has its place. */
export async function placeOf(
  id: string,
  principal: Principal,
  coordinator: Coordinator,
): Promise<JobRecord> {
  const view = await readableChat(id, principal, coordinator);
  if (view !== null) return view.job;
  throw invalidField('after', 'must be the id of a completion of the list');
}

interface Found {
  job: JobRecord;
  result: JobResult;
  metadata: Record<string, string>;
}

interface Search extends Wanted {
  /** Id of a key; null for all. */
  createdBy: string | null;
  after: JobRecord | null;
}

/**
 * The completions of one page and the next one, if there is one.
 *
 * The store walks from the newest completed job on, 1,000 in one turn of the event loop. Oldest first, the end of the walk is
 * kept, never more than a page. With 200,000 completed jobs in memory that takes some 200 ms if all of them are stored
 * completions, 80 ms if a thousandth is, in turns of 1 to 4 ms; newest first the first page takes 6 ms.
 * @param gone ends the walk.
 */
export async function search(
  wanted: Search,
  { limit, isAscending }: PageRequest,
  coordinator: Coordinator,
  gone: AbortSignal,
): Promise<Found[]> {
  const { createdBy, after } = wanted;
  const filter = { ...noFilter, statuses: ['completed' as const], createdBy };
  const found: Found[] = [];
  for await (const batch of coordinator.scan(filter, false)) {
    for (const job of batch) {
      if (after !== null && isAscending && job.ordinal <= after.ordinal) return found.reverse();
      if (after !== null && !isAscending && job.ordinal >= after.ordinal) continue;
      if (!isStored(job, wanted.model)) continue;
      const match = await matching(job, wanted, coordinator);
      if (match !== null) found.push(match);
      if (!isAscending && found.length > limit) return found;
      if (isAscending && found.length > limit + 1) found.shift();
    }
    if (gone.aborted) break;
  }
  return isAscending ? found.reverse() : found;
}

/** Whether a job is a completion that was to be stored, of this model, by either of its names. */
function isStored(job: JobRecord, model: string | null): boolean {
  const { door } = job.request;
  if (door?.form !== 'chat' || door.fields.store !== true) return false;
  return model === null || door.fields.model === model || headingOf(job, model).model === model;
}

/** null unless it belongs into the list, as far as its result and annotation say. */
async function matching(
  job: JobRecord,
  { metadata: pairs }: Wanted,
  coordinator: Coordinator,
): Promise<Found | null> {
  const { result } = job.life;
  const annotation = await coordinator.annotations.get(job.id);
  if (result === null || annotation?.isDeleted === true) return null;
  const metadata = shownMetadata(job, annotation);
  return pairs.every(([name, value]) => own(metadata, name) === value) ? { job, result, metadata } : null;
}
