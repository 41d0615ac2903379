import { type CostAmounts, noAmounts } from '../../src/domain/cost.ts';
import {
  beginLife,
  type JobCreator,
  type JobLife,
  type JobRecord,
  type JobRequest,
  type Target,
} from '../../src/domain/job.ts';
import { noFilter } from '../../src/domain/jobFilter.ts';
import type { JobState } from '../../src/domain/states.ts';
import type { WorkerLife } from '../../src/domain/worker.ts';
import type { JobChange, JobFilter, JobQuery, LedgerEntry } from '../../src/store/store.ts';

/** When the test's jobs begin, epoch ms. */
export const epoch = 1_700_000_000_000;

/** Head starts as the configuration has them, ms. */
export function headStart(priority: string): number {
  return { critical: 86_400_000, high: 3_600_000, low: -3_600_000, background: -86_400_000 }[priority] ?? 0;
}

/** A target that any worker of the provider may take. */
export function targetOf(provider: string, model: string | null = null): Target {
  return { provider, model, worker: null, workerTag: null };
}

/** A request for one provider. */
export function requestOf(overrides: Partial<JobRequest> = {}): JobRequest {
  return {
    prompt: 'Hello',
    input: null,
    messages: null,
    provider: 'anthropic',
    model: null,
    priority: 'normal',
    tier: null,
    tags: [],
    params: {},
    metadata: {},
    timeoutSeconds: null,
    notBefore: null,
    ...overrides,
  };
}

/** The life of a job that has not run. */
export function lifeOf(overrides: Partial<JobLife> = {}): JobLife {
  return {
    ...beginLife({
      strategy: 'direct',
      target: targetOf('anthropic'),
      chain: [],
      route: [],
      priority: 'normal',
      createdAt: epoch,
      notBefore: null,
    }),
    ...overrides,
  };
}

/** The change that creates a job; provider and priority of the life follow the request's. */
export function creation(
  id: string,
  options: {
    request?: Partial<JobRequest>;
    life?: Partial<JobLife>;
    state?: JobState;
    at?: number;
    by?: JobCreator | undefined;
  } = {},
): JobChange {
  const request = requestOf(options.request);
  const at = options.at ?? epoch;
  const life = lifeOf({
    target: targetOf(request.provider ?? 'anthropic', request.model),
    priority: request.priority,
    enqueuedAt: at,
    updatedAt: at,
    ...options.life,
  });
  const state = options.state ?? 'pending.ready';
  const created = { at, request, ...(options.by === undefined ? {} : { by: options.by }) };
  return { kind: 'job', id, expectedVersion: 0, created, state, life };
}

/** The change that takes a job on to another state. */
export function transition(
  job: Pick<JobRecord, 'id' | 'version' | 'life'>,
  state: JobState,
  life: Partial<JobLife> = {},
  ledger?: LedgerEntry[],
): JobChange {
  return {
    kind: 'job',
    id: job.id,
    expectedVersion: job.version,
    state,
    life: { ...job.life, ...life },
    lifeBefore: job.life,
    ...(ledger === undefined ? {} : { ledger }),
  };
}

/** A line of the ledger for the end of a worker's attempt. */
export function ledgerEntry(
  workerId: string,
  outcome: LedgerEntry['outcome'],
  { amounts, ...overrides }: Partial<Omit<LedgerEntry, 'amounts'>> & { amounts?: Partial<CostAmounts> } = {},
): LedgerEntry {
  return {
    at: epoch,
    provider: 'anthropic',
    model: null,
    workerId,
    outcome,
    tier: null,
    tags: [],
    ...overrides,
    amounts: { ...noAmounts, attempts: 1, unknown: 1, ...amounts },
  };
}

/** A worker with one slot. */
export function workerLife(id: string, overrides: Partial<WorkerLife> = {}): WorkerLife {
  return {
    id,
    name: id,
    kind: 'cloud',
    providers: ['anthropic'],
    models: {},
    tags: [],
    concurrency: 1,
    declaredConcurrency: 1,
    paused: false,
    version: null,
    host: null,
    instance: null,
    connectedAt: null,
    lastHeartbeatAt: null,
    ...overrides,
  };
}

/** No filter at all. */
export const everything: JobFilter = noFilter;

/** A query without filters. */
export function queryOf(overrides: Partial<JobQuery> = {}): JobQuery {
  return {
    ...everything,
    limit: 50,
    offset: 0,
    ...overrides,
  };
}
