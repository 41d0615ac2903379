import type { JobFilters } from '../../../client/client.ts';
import { type JobState, type JobStatus, jobStatuses } from '../../../domain/states.ts';
import type { WireJob } from '../../../domain/wire/job.ts';

/** The filters of the list of jobs in the address. Empty means none. */
export interface ListFilters {
  status: JobStatus[];
  /** One of `states`, or empty. */
  state: string;
  q: string;
  provider: string;
  model: string;
  worker: string;
  /** Name of a run. */
  run: string;
  /** Id of a key. */
  created_by: string;
  priority: string;
  tier: string;
  tags: string[];
  /** `name=value` each. */
  metadata: string[];
  /** The age: one of `spans`, or empty. */
  within: string;
}

/** The filters with a single value, with their labels. */
export const plainFilters = {
  provider: 'Provider',
  model: 'Model',
  priority: 'Priority',
  tier: 'Tier',
  worker: 'Worker',
  run: 'Run',
  created_by: 'Key',
} as const;

export type PlainFilter = keyof typeof plainFilters;

/** The states within a status, with their labels. */
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

/** Parse the filters of an address. Unknown values are ignored, so that an old link still shows something. */
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
    run: text('run'),
    created_by: text('created_by'),
    priority: text('priority'),
    tier: text('tier'),
    tags: [...new Set(query.getAll('tag').filter((tag) => tag !== ''))],
    metadata: [...new Set(query.getAll('metadata').filter((pair) => pair.indexOf('=') > 0))],
    within: spans[within] === undefined ? '' : within,
  };
}

/** The same for the API. @param now epoch ms by the server's clock. */
export function askFor(filters: ListFilters, now: number): JobFilters {
  const { status, tags, metadata, q, within, created_by: createdBy, ...plain } = filters;
  const span = spans[within];
  const given = Object.entries(plain).filter(([, value]) => value !== '');
  return {
    ...Object.fromEntries(given),
    ...(status.length === 0 ? {} : { status: status.join(',') }),
    ...(createdBy === '' ? {} : { createdBy }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(metadata.length === 0 ? {} : { metadata }),
    ...(q.trim() === '' ? {} : { q: q.trim() }),
    ...(span === undefined ? {} : { createdAfter: new Date(now - span.ms).toISOString() }),
  };
}

/** Whether a job matches, as the API decides it; but of a long prompt only the start is known here. */
export function isMatch(job: WireJob, filters: ListFilters): boolean {
  const { status, state, q, provider, model, worker, created_by: createdBy, priority, tier } = filters;
  const { tags, metadata, run } = filters;
  const is = (wanted: string, value: string | null): boolean => wanted === '' || wanted === value;
  const text = q.trim().toLowerCase();
  return (
    (status.length === 0 || status.includes(job.status)) &&
    is(state, stateOf(job)) &&
    is(provider, job.provider) &&
    is(model, job.model) &&
    is(worker, job.worker_id) &&
    is(run, job.run?.name ?? null) &&
    is(createdBy, job.created_by?.key_id ?? null) &&
    is(priority, job.priority) &&
    is(tier, job.tier) &&
    tags.every((tag) => job.tags.includes(tag)) &&
    metadata.every((pair) => hasPair(job, pair)) &&
    (text === '' || job.id.includes(text) || (job.prompt ?? '').toLowerCase().includes(text))
  );
}

/** @param pair `name=value`. */
function hasPair({ metadata }: WireJob, pair: string): boolean {
  const at = pair.indexOf('=');
  return metadata[pair.slice(0, at)] === pair.slice(at + 1);
}

/** The path of its state. */
function stateOf({ status, stuck, waiting }: WireJob): JobState {
  if (status === 'pending') return waiting?.reason === 'delayed' ? 'pending.delayed' : 'pending.ready';
  if (status === 'running') return stuck ? 'running.stuck' : 'running.active';
  return status;
}

/** Whether anything but the status filters the list. */
export function hasFilter(filters: ListFilters): boolean {
  const { status: _, tags, metadata, ...texts } = filters;
  return tags.length > 0 || metadata.length > 0 || Object.values(texts).some((text) => text !== '');
}
