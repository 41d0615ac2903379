import { array, lazy, object, string } from 'yup';
import type { Coordinator, JobView } from '../../../coordinator/coordinator.ts';
import type { Doer } from '../../../domain/audit.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import { type JobStatus, jobStatuses } from '../../../domain/states.ts';
import type { WireBulk } from '../../../domain/wire/job.ts';
import { boundedList } from '../../../lib/boundedList.ts';
import type { JobFilter } from '../../../store/store.ts';
import { Query, type RawQuery, readParameters } from '../../query.ts';
import { validate } from '../../validate.ts';
import { bulkMax } from './limits.ts';
import { filterOf, filterParameters, newestParameter } from './parameters.ts';

/** Refusals that are listed one by one. */
const refusedMax = 100;
/** Changes under way at once: they share a few commits. */
const atOnce = 100;

/** What can be done to many jobs, and to which it can be done at all. */
const bulkActions = {
  cancel: {
    statuses: ['pending', 'running'],
    audited: 'jobs.bulk_cancelled',
    fits: () => true,
    change: (coordinator: Coordinator, id: string): Promise<JobView> => coordinator.cancel(id),
  },
  retry: {
    statuses: ['failed', 'running'],
    audited: 'jobs.bulk_retried',
    fits: ({ state }: JobRecord) => state === 'failed' || state === 'running.stuck',
    change: (coordinator: Coordinator, id: string): Promise<JobView> => coordinator.retry(id),
  },
} as const;

export type BulkAction = keyof typeof bulkActions;

/** The jobs that are meant: named, or all that a list with these filters shows. */
export type Choice = { ids: string[] } | { filter: JobFilter };

/** Its faults of the filter are found by `parseBulk`. */
export const bulkSchema = object({
  ids: boundedList(bulkMax, array().of(string().defined().min(1).max(nameLengthMax)).min(1)),
  filter: lazy((value: unknown) => (value === undefined ? object().notRequired() : looseFilter(value))).meta({
    description:
      'The query parameters of `GET /api/jobs` that filter, by name; a parameter that may be repeated takes a list. Empty means every job. With `newest` it leaves out what came after the list was looked at.',
    json: {
      type: 'object',
      additionalProperties: {
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      },
    },
  }),
})
  .noUnknown()
  .test('one choice', function checkChoice(body) {
    return (body.ids === undefined) === (body.filter === undefined)
      ? this.createError({ path: 'ids', message: 'or filter must be given, one of them' })
      : true;
  })
  .meta({ description: 'Exactly one of the two.', json: { minProperties: 1, maxProperties: 1 } });

/** Texts that a filter may list, and filters at once: far more than there are. */
const filtersMax = 100;
const texts = boundedList(filtersMax, array().of(string().required()));

/** Each of the filter's own is a text or a list of texts; which ones there are is known to `filterParameters`. */
function looseFilter(value: unknown) {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const shape = names.map((name) => [
    name,
    lazy((one: unknown) => (Array.isArray(one) ? texts : string().required())),
  ]);
  return names.length > filtersMax
    ? object().test('few', `must have at most ${filtersMax} members`, () => false)
    : object(Object.fromEntries(shape)).noUnknown(false);
}

/** The body of POST /api/jobs/cancel and /retry. @throws CoordinatorError invalid_request. */
export function parseBulk(body: unknown): Choice {
  const { ids, filter } = validate(bulkSchema, body);
  if (ids !== undefined) return { ids: [...new Set(ids.map((id) => id.toLowerCase()))] };
  const query = new Query((filter ?? {}) as RawQuery);
  const { newest, ...values } = readParameters({ ...filterParameters, newest: newestParameter }, query);
  query.done();
  return { filter: filterOf(values, newest) };
}

/**
 * Change up to 1,000 jobs, the newest first. A job that refuses, because it has ended meanwhile, is listed and keeps no other
 * from its change. The audit log has it when any job has changed: how many, and by which filters, not by which texts.
 * @throws CoordinatorError store_unavailable; those that were changed until then stay changed.
 */
export async function changeMany(
  coordinator: Coordinator,
  action: BulkAction,
  choice: Choice,
  by: Doer,
): Promise<WireBulk> {
  const { ids, hasMore } =
    'ids' in choice ? { ...choice, hasMore: false } : await matching(coordinator, action, choice);
  const { change, audited } = bulkActions[action];
  const refused: WireBulk['refused'] = [];
  let changed = 0;
  let refusedCount = 0;
  for (let from = 0; from < ids.length; from += atOnce) {
    const part = ids.slice(from, from + atOnce);
    const outcomes = await Promise.all(part.map((id) => change(coordinator, id).then(() => null, refusalOf)));
    for (const [index, refusal] of outcomes.entries()) {
      if (refusal === null) {
        changed += 1;
        continue;
      }
      refusedCount += 1;
      if (refused.length < refusedMax) refused.push({ id: part[index] ?? '', ...refusal });
    }
  }
  if (changed > 0) {
    await coordinator.audit.recordDone({
      by,
      action: audited,
      target: { kind: 'jobs', id: null, name: null },
      details: {
        changed,
        refused: refusedCount,
        filters: 'filter' in choice ? filtersOf(choice.filter) : null,
      },
    });
  }
  return { changed, refused_count: refusedCount, refused, has_more: hasMore };
}

/** Names of the filters that were given. */
function filtersOf(filter: JobFilter): string[] {
  return Object.entries(filter)
    .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([name]) => name);
}

/** The newest 1,000 jobs of the filter that the action can be done to, and whether there are more. */
export async function matching(
  coordinator: Coordinator,
  action: BulkAction,
  { filter }: { filter: JobFilter },
): Promise<{ ids: string[]; hasMore: boolean }> {
  const { statuses: possible, fits } = bulkActions[action];
  const wanted: readonly JobStatus[] = filter.statuses.length === 0 ? jobStatuses : filter.statuses;
  const statuses = possible.filter((status) => wanted.includes(status));
  const ids: string[] = [];
  if (statuses.length === 0) return { ids, hasMore: false };
  for await (const jobs of coordinator.scan({ ...filter, statuses: [...statuses] }, false)) {
    for (const job of jobs) {
      if (!fits(job)) continue;
      if (ids.length === bulkMax) return { ids, hasMore: true };
      ids.push(job.id);
    }
  }
  return { ids, hasMore: false };
}

function refusalOf(error: unknown): Omit<WireBulk['refused'][number], 'id'> {
  if (!(error instanceof CoordinatorError)) throw error;
  const { code, message: detail } = error;
  if (code !== 'invalid_transition' && code !== 'job_not_found') throw error;
  return { code, detail };
}
