import type { JobFilters } from '../../../client/client.ts';
import { type JobState, type JobStatus, jobStatuses } from '../../../domain/states.ts';
import type { WireJob } from '../../../domain/wire/job.ts';

/** What the list of jobs is narrowed by, as it stands in the address. Empty means not at all. */
export interface ListFilters {
  status: JobStatus[];
  /** One of `states`, or empty. */
  state: string;
  q: string;
  provider: string;
  model: string;
  worker: string;
  /** Id of a key. */
  created_by: string;
  priority: string;
  tier: string;
  tags: string[];
  /** How far back: one of `spans`, or empty. */
  within: string;
}

/** The filters of one value, with what they are called. */
export const plainFilters = {
  provider: 'Provider',
  model: 'Model',
  priority: 'Priority',
  tier: 'Tier',
  worker: 'Worker',
  created_by: 'Key',
} as const;

export type PlainFilter = keyof typeof plainFilters;

/** The states inside of a status, with what they are called. */
export const states: Record<string, string> = {
  'pending.ready': 'Ready to start',
  'pending.delayed': 'Waiting for a time',
  'running.active': 'With its worker',
  'running.stuck': 'Stuck',
};

const hourMs = 3_600_000;

export const spans: Record<string, { label: string; ms: number }> = {
  '15m': { label: 'Last 15 minutes', ms: hourMs / 4 },
  '1h': { label: 'Last hour', ms: hourMs },
  '24h': { label: 'Last 24 hours', ms: 24 * hourMs },
  '7d': { label: 'Last 7 days', ms: 7 * 24 * hourMs },
};

/** The filters in an address. What it does not know it passes over: an old link should still show something. */
export function readFilters(query: URLSearchParams): ListFilters {
  const text = (name: string): string => query.get(name) ?? '';
  const given = query.getAll('status').flatMap((words) => words.split(','));
  const within = text('within');
  const state = text('state');
  return {
    status: jobStatuses.filter((status) => given.includes(status)),
    state: states[state] === undefined ? '' : state,
    q: text('q'),
    provider: text('provider'),
    model: text('model'),
    worker: text('worker'),
    created_by: text('created_by'),
    priority: text('priority'),
    tier: text('tier'),
    tags: [...new Set(query.getAll('tag').filter((tag) => tag !== ''))],
    within: spans[within] === undefined ? '' : within,
  };
}

/** The same for the API. @param now epoch ms by the server's clock. */
export function askFor(filters: ListFilters, now: number): JobFilters {
  const { status, tags, q, within, created_by: createdBy, ...plain } = filters;
  const span = spans[within];
  const given = Object.entries(plain).filter(([, value]) => value !== '');
  return {
    ...Object.fromEntries(given),
    ...(status.length === 0 ? {} : { status: status.join(',') }),
    ...(createdBy === '' ? {} : { createdBy }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(q.trim() === '' ? {} : { q: q.trim() }),
    ...(span === undefined ? {} : { createdAfter: new Date(now - span.ms).toISOString() }),
  };
}

/** The same as the body of a change of many jobs. */
export function filterBody(filters: JobFilters): Record<string, string | readonly string[]> {
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

/** Whether a job is one that the list would show, as the API decides it. */
export function isMatch(job: WireJob, filters: ListFilters): boolean {
  const { status, state, q, provider, model, worker, created_by: createdBy, priority, tier, tags } = filters;
  const is = (wanted: string, value: string | null): boolean => wanted === '' || wanted === value;
  const text = q.trim().toLowerCase();
  return (
    (status.length === 0 || status.includes(job.status)) &&
    is(state, stateOf(job)) &&
    is(provider, job.provider) &&
    is(model, job.model) &&
    is(worker, job.worker_id) &&
    is(createdBy, job.created_by?.key_id ?? null) &&
    is(priority, job.priority) &&
    is(tier, job.tier) &&
    tags.every((tag) => job.tags.includes(tag)) &&
    (text === '' || job.id.includes(text) || (job.prompt ?? '').toLowerCase().includes(text))
  );
}

/** Where it is in its machine. */
function stateOf({ status, stuck, waiting }: WireJob): JobState {
  if (status === 'pending') return waiting?.reason === 'delayed' ? 'pending.delayed' : 'pending.ready';
  if (status === 'running') return stuck ? 'running.stuck' : 'running.active';
  return status;
}

/** Whether anything but the status narrows the list. */
export function isNarrowed(filters: ListFilters): boolean {
  const { status: _, tags, ...texts } = filters;
  return tags.length > 0 || Object.values(texts).some((text) => text !== '');
}
