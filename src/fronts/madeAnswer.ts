import { randomUUID } from 'node:crypto';
import { beginLife, type JobInput, type JobRecord, type JobRequest } from '../domain/job.ts';
import { presentJob } from '../present/job.ts';
import type { DispatchHead } from './dispatchRequest.ts';
import type { CoreTurn, MadeJob } from './messages.ts';

/* The response to a dispatch that made a job, byte for byte as the core gives it (test/e2e/fronts.test.ts). */

/** JSON of a job that was just made. */
export function textOfMade(
  made: MadeJob,
  request: JobRequest,
  { creators, waits }: Pick<CoreTurn, 'creators' | 'waits'>,
): string {
  const { id, createdAt, updatedAt, enqueuedAt, creator, waiting } = made;
  const job: JobRecord = {
    id,
    ordinal: 0,
    version: 1,
    createdAt,
    createdBy: creator === null ? null : (creators[creator] ?? null),
    request,
    state: 'pending.ready',
    life: { ...beginLife({ ...unseen, priority: request.priority }), enqueuedAt, updatedAt },
  };
  const view = { job, waiting: waiting === null ? null : (waits[waiting] ?? null), heartbeatAt: null };
  return JSON.stringify(presentJob(view));
}

/** What no response shows of a new job. */
const unseen: Omit<JobInput, 'priority'> = {
  strategy: 'direct',
  target: { provider: '', model: null, worker: null, workerTag: null },
  chain: [],
  route: [],
  createdAt: 0,
  notBefore: null,
};

/** Whether nothing has happened to a job since it was made, so that `textOfMade` shows it as it is. */
export function isAsMade({ state, life, run, request }: JobRecord): boolean {
  return (
    state.startsWith('pending.') &&
    life.attempts.length === 0 &&
    life.route.length === 0 &&
    life.retryCount === 0 &&
    life.reapCount === 0 &&
    run === undefined &&
    request.door === undefined
  );
}

/** The whole response. @param keepAliveMs as the server of the core says. */
export function responseOf(id: string, text: string, head: DispatchHead, keepAliveMs: number): string {
  const connection = head.isLast
    ? 'close'
    : `keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}`;
  return `HTTP/1.1 201 Created\r\nX-Request-Id: ${head.requestId ?? randomUUID()}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nLocation: /api/jobs/${id}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\nDate: ${dateNow()}\r\nConnection: ${connection}\r\n\r\n${text}`;
}

let dateAt = 0;
let date = '';

/** RFC 9110, 6.6.1; made once a second. */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateAt) {
    dateAt = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
