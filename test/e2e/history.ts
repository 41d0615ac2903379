import type { WireJob, WireJobList } from '../../src/domain/wire/job.ts';
import type { Problem } from '../../src/domain/wire/problem.ts';
import { answerTo, type HttpAnswer } from '../support/e2eHttp.ts';
import type { DurableWorker, LeaseLog } from '../support/e2eWorker.ts';

/** The body of one dispatch; `metadata.name` is its alone. */
export interface Asking {
  prompt: string;
  input?: string;
  provider: string;
  priority: string;
  tags: string[];
  params: Record<string, unknown>;
  metadata: { name: string };
}

/**
 * What clients were told of one thing they asked for.
 * - `ok`: done; it must be so for ever.
 * - `fail`: not done; it must never show.
 * - `unknown`: the connection broke; either is right.
 */
export type Told = 'ok' | 'fail' | 'unknown';

/** One job as its client remembers it. */
export interface Remembered {
  asking: Asking;
  dispatch: Told;
  /** As it was acknowledged. */
  job: WireJob | null;
  cancel: Told | null;
  retry: Told | null;
}

/** Every job of the store, whole, oldest first. */
export async function allJobs(port: number): Promise<WireJob[]> {
  const limit = 1000;
  const jobs: WireJob[] = [];
  for (let offset = 0; ; ) {
    const path = `/api/jobs?include=request,result&limit=${limit}&offset=${offset}`;
    const page = (await answerTo(port, { path })).json as WireJobList;
    jobs.push(...page.jobs);
    if (page.next_offset === undefined && page.jobs.length < limit) return jobs.reverse();
    offset = page.next_offset ?? offset + limit;
  }
}

/** How many jobs have this status. */
export async function countOf(port: number, status: string): Promise<number> {
  const answer = await answerTo(port, { path: `/api/jobs?limit=1&status=${status}` });
  return (answer.json as WireJobList).total;
}

/** The problem's code, for telling one refusal from another. */
export function codeOf({ json }: HttpAnswer): string {
  return (json as Problem | undefined)?.code ?? 'no code';
}

/**
 * Hold what the store has against what everybody was told. The store is at rest: nothing is pending or running.
 * @returns one sentence for each contradiction.
 */
export function contradictions(
  jobs: readonly WireJob[],
  asked: ReadonlyMap<string, Remembered>,
  workers: readonly DurableWorker[],
): string[] {
  const found: string[] = [];
  const byName = new Map<string, WireJob>();
  for (const job of jobs) {
    const name = job.metadata.name ?? 'no name';
    if (byName.has(name)) found.push(`${name} is there twice: ${byName.get(name)?.id}, ${job.id}`);
    byName.set(name, job);
    const remembered = asked.get(name);
    if (remembered === undefined || remembered.dispatch === 'fail')
      found.push(`nobody has job ${job.id} (${name})`);
    else found.push(...differences(job, remembered).map((what) => `${name} (${job.id}): ${what}`));
  }
  for (const [name, { dispatch, job }] of asked) {
    if (dispatch === 'ok' && !byName.has(name))
      found.push(`${name} was acknowledged as ${job?.id} and is not there`);
  }
  found.push(...resultFaults(jobs, workers));
  return found;
}

/** What a job says of itself, against what its client was told. */
function differences(job: WireJob, { asking, job: acknowledged, cancel, retry }: Remembered): string[] {
  const found: string[] = [];
  const differs = (field: string, is: unknown, should: unknown) => {
    if (JSON.stringify(is) !== JSON.stringify(should))
      found.push(
        `${field} is ${JSON.stringify(is)?.slice(0, 80)}, not ${JSON.stringify(should)?.slice(0, 80)}`,
      );
  };
  differs('prompt', job.prompt, asking.prompt);
  differs('input', job.input, asking.input ?? null);
  differs('provider', job.provider, asking.provider);
  differs('priority', job.priority, asking.priority);
  differs('tags', job.tags, asking.tags);
  differs('params', job.params, asking.params);
  if (acknowledged !== null) {
    differs('id', job.id, acknowledged.id);
    differs('created_at', job.created_at, acknowledged.created_at);
    differs('enqueued_at', job.enqueued_at, acknowledged.enqueued_at);
  }
  if (!['completed', 'failed', 'cancelled'].includes(job.status))
    found.push(`it has not ended: ${job.status}`);
  if (cancel === 'ok' && job.status !== 'cancelled')
    found.push(`its cancel was acknowledged, it is ${job.status}`);
  if (cancel !== 'ok' && cancel !== 'unknown' && job.status === 'cancelled')
    found.push('nobody cancelled it');
  if (retry === 'ok' && job.retry_count !== 1)
    found.push(`its retry was acknowledged, retry_count is ${job.retry_count}`);
  if (retry === 'ok' && job.status === 'failed')
    found.push('its retry was acknowledged, and it is failed still');
  if (retry !== 'ok' && retry !== 'unknown' && job.retry_count !== 0) found.push('nobody retried it');
  if (job.attempts.some(({ finished_at, outcome }) => finished_at === null || outcome === null))
    found.push('an attempt has no end');
  const leases = job.attempts.map(({ lease }) => lease);
  if (leases.some((lease, i) => i > 0 && lease <= (leases[i - 1] ?? 0)))
    found.push(`leases do not rise: ${leases}`);
  return found;
}

/** Completed jobs against what the workers said and what they were answered. */
function resultFaults(jobs: readonly WireJob[], workers: readonly DurableWorker[]): string[] {
  const found: string[] = [];
  const said = new Map<string, LeaseLog[]>();
  for (const { log } of workers) {
    for (const entry of log.values())
      said.set(entry.job.job_id, [...(said.get(entry.job.job_id) ?? []), entry]);
  }
  for (const job of jobs) {
    const entries = said.get(job.id) ?? [];
    said.delete(job.id);
    const accepted = entries.filter(({ frame, ack }) => frame?.type === 'complete' && ack?.accepted === true);
    const ends = job.attempts.filter(({ outcome }) => outcome === 'completed');
    if (job.status !== 'completed') {
      if (accepted.length > 0)
        found.push(`${job.id} is ${job.status}, and lease ${accepted[0]?.job.lease} was accepted`);
      if (job.result !== null) found.push(`${job.id} is ${job.status} and has a result`);
      continue;
    }
    const [end] = ends;
    const [entry] = accepted;
    if (ends.length !== 1 || accepted.length !== 1 || end?.lease !== entry?.job.lease) {
      const leases = accepted.map(({ job: { lease } }) => lease);
      found.push(
        `${job.id}: accepted leases ${leases}, completed attempts ${ends.map(({ lease }) => lease)}`,
      );
    }
    const output = entry?.frame?.type === 'complete' ? entry.frame.result.output : null;
    if (job.result?.output !== output)
      found.push(`${job.id} has the result ${job.result?.output}, not ${output}`);
    found.push(...failFaults(job, entries));
  }
  for (const id of said.keys()) found.push(`a worker was given ${id}, which is not there`);
  return found.concat(leaseFaults(jobs, workers));
}

/** Every lease that reached a worker was answered, and a restart took none of them from its worker to run it again. */
function leaseFaults(jobs: readonly WireJob[], workers: readonly DurableWorker[]): string[] {
  const found: string[] = [];
  const byId = new Map(jobs.map((job) => [job.id, job]));
  for (const worker of workers) {
    for (const { job, frame, ack } of worker.log.values()) {
      const attempt = byId.get(job.job_id)?.attempts.find(({ lease }) => lease === job.lease);
      const outcome = attempt?.outcome ?? 'none';
      if (ack === null) found.push(`lease ${job.lease} of ${job.job_id} was never answered`);
      if (['lost', 'reaped', 'none'].includes(outcome))
        found.push(`lease ${job.lease} of ${job.job_id} was held, said ${frame?.type}, and is ${outcome}`);
    }
  }
  return found;
}

/** A failure that was accepted is an attempt that failed. */
function failFaults(job: WireJob, entries: readonly LeaseLog[]): string[] {
  return entries
    .filter(({ frame, ack }) => frame?.type === 'fail' && ack?.accepted === true)
    .filter(({ job: { lease } }) => job.attempts.find((one) => one.lease === lease)?.outcome !== 'failed')
    .map(({ job: { lease } }) => `${job.id}: the failure of lease ${lease} was accepted and is not there`);
}
