import type { Call } from './request.ts';

/** The filters of a list of jobs; a list has at most 1,000 jobs, 50 by default. */
export interface JobFilters {
  status?: string | undefined;
  /** `pending.delayed` and the like; several with commas. */
  state?: string | undefined;
  /** As requested. */
  provider?: string | undefined;
  model?: string | undefined;
  worker?: string | undefined;
  /** Name of the run that it belongs to. */
  run?: string | undefined;
  /** Id of the key that created it. */
  createdBy?: string | undefined;
  /** All of them. */
  tags?: readonly string[] | undefined;
  priority?: string | undefined;
  tier?: string | undefined;
  /** `name=value` of the metadata, all of them. */
  metadata?: readonly string[] | undefined;
  /** ISO 8601. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  /** Text in the prompt or the id. */
  q?: string | undefined;
  /** Id of a job: jobs created after it are omitted, so that pages stay stable. */
  newest?: string | undefined;
  /** Parts that lists omit or cut by default. */
  include?: readonly ('request' | 'input' | 'result')[] | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

/** The filters as a query string. */
export function queryOf(filters: JobFilters): NonNullable<Call['query']> {
  const { tags, createdBy, createdAfter, createdBefore, include, ...plain } = filters;
  return {
    ...plain,
    tag: tags,
    created_by: createdBy,
    created_after: createdAfter,
    created_before: createdBefore,
    include: include?.join(','),
  };
}

/** The filters for a change of many jobs, without what only applies to the page of a list. */
export function bulkFilter(filters: JobFilters): Record<string, string | readonly string[]> {
  const { tags, createdBy, createdAfter, createdBefore, status, ...others } = filters;
  const { include: _i, limit: _l, offset: _o, ...plain } = others;
  const body: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(plain)) if (value !== undefined) body[name] = value;
  if (tags !== undefined) body.tag = tags;
  if (status !== undefined) body.status = status.split(',');
  if (createdBy !== undefined) body.created_by = createdBy;
  if (createdAfter !== undefined) body.created_after = createdAfter;
  if (createdBefore !== undefined) body.created_before = createdBefore;
  return body;
}
