import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobStatus } from '../../src/domain/states.ts';
import type { WireWorkerList } from '../../src/domain/wire/worker.ts';
import { HttpClient } from './httpClient.ts';
import { LeanClient, rawRequest } from './leanClient.ts';
import { apiKey } from './processes.ts';

/** Requests that no answer comes to in this time fail the run, ms. */
const answerMsMax = 30_000;
/** How long a worker may take to connect, ms. */
const connectMsMax = 60_000;
const connectPollMs = 20;
const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };

export interface Load {
  url: string;
  connections: number;
  /** Used in turn. */
  bodies: readonly string[];
}

export interface LoadResult {
  requests: number;
  elapsedMs: number;
  /** Each answer's time, ms. */
  latenciesMs: number[];
}

/** Jobs answered a second. */
export function rateOf({ requests, elapsedMs }: LoadResult): number {
  return (requests * 1000) / elapsedMs;
}

/**
 * POST jobs as fast as they are answered: each connection sends its next one when it has the answer to the last.
 * @param until stops it; whichever bound is reached first.
 * @throws when any answer is not 201: a figure over refused requests is none.
 */
export async function dispatchLoad(
  { url, connections, bodies }: Load,
  until: { requests?: number; ms?: number },
): Promise<LoadResult> {
  const requests = bodies.map((body) => rawRequest(url, '/api/jobs', headers, body));
  const clients = await Promise.all(
    Array.from({ length: connections }, () => LeanClient.connect(url, answerMsMax)),
  );
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + (until.ms ?? Number.POSITIVE_INFINITY);
  const requestsMax = until.requests ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  const run = async (client: LeanClient): Promise<void> => {
    for (let sentAt = performance.now(); sent < requestsMax && sentAt < endsAt; ) {
      const request = requests[sent % requests.length] as Buffer;
      sent += 1;
      const status = await client.send(request);
      if (status !== 201) throw new Error(`POST /api/jobs answered ${status}`);
      const now = performance.now();
      latenciesMs.push(now - sentAt);
      sentAt = now;
    }
  };
  try {
    await Promise.all(clients.map(run));
    return { requests: latenciesMs.length, elapsedMs: performance.now() - startedAt, latenciesMs };
  } finally {
    for (const client of clients) client.close();
  }
}

/**
 * POST jobs at a steady rate, whatever the answers do; latencies count from the moment a request was due, so that a
 * server that stands still is not spared.
 * @param onSend told the number of each job, from 0, as it is sent.
 * @throws when an answer is not 201, or none comes.
 */
export async function steadyLoad(
  { url, connections, bodies }: Load,
  { perSecond, ms }: { perSecond: number; ms: number },
  onSend: (index: number) => void = () => {},
): Promise<LoadResult> {
  const clients = Array.from({ length: connections }, () => connect(url));
  const requests = Math.round((perSecond * ms) / 1000);
  const latenciesMs: number[] = [];
  const answers: Promise<void>[] = [];
  // One ends the load at its next request; until then nobody waits for the answer that brought it.
  const refusals: unknown[] = [];
  const startedAt = performance.now();
  try {
    for (let index = 0; index < requests && refusals.length === 0; index++) {
      const dueAt = startedAt + (index * 1000) / perSecond;
      await reach(dueAt);
      onSend(index);
      const client = clients[index % connections] as HttpClient;
      answers.push(
        post(client, '/api/jobs', bodies[index % bodies.length] ?? '', 201).then(
          () => void latenciesMs.push(performance.now() - dueAt),
          (error: unknown) => void refusals.push(error),
        ),
      );
    }
    await Promise.all(answers);
    if (refusals.length > 0) throw refusals[0];
    return { requests, elapsedMs: performance.now() - startedAt, latenciesMs };
  } finally {
    for (const client of clients) client.destroy();
  }
}

export function connect(url: string): HttpClient {
  return new HttpClient(url, headers, answerMsMax);
}

/** @returns the answer's text. @throws when the status is another than `status`. */
export function post(client: HttpClient, path: string, body: string, status: number): Promise<string> {
  return client.send('POST', path, body, status);
}

/** @returns the answer's text. @throws when the status is another than `status`. */
export function getText(client: HttpClient, path: string, status: number): Promise<string> {
  return client.send('GET', path, '', status);
}

/** How many jobs of the coordinator have completed. */
export function completedJobs(client: HttpClient): Promise<number> {
  return countJobs(client, 'completed');
}

/** How many jobs of the coordinator are in a state. */
export async function countJobs(client: HttpClient, status: JobStatus): Promise<number> {
  const page = await getJson(client, `/api/jobs?status=${status}&limit=1`);
  if (typeof page === 'object' && page !== null && 'total' in page) return Number(page.total);
  throw new Error('GET /api/jobs answered no total');
}

/** Wait until a worker is connected. @throws when none comes in time. */
export async function workerConnected(client: HttpClient): Promise<void> {
  const endsAt = performance.now() + connectMsMax;
  for (;;) {
    const { workers } = (await getJson(client, '/api/workers')) as WireWorkerList;
    if (workers.some(({ connected }) => connected)) return;
    if (performance.now() > endsAt) throw new Error(`no worker connected in ${connectMsMax} ms`);
    await sleep(connectPollMs);
  }
}

export async function getJson(client: HttpClient, path: string): Promise<unknown> {
  return JSON.parse(await getText(client, path, 200));
}

/** Wait for a moment; timers fire up to a millisecond late, which is little beside what is measured. */
function reach(at: number): Promise<void> {
  const leftMs = at - performance.now();
  return leftMs <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, leftMs));
}
