import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { WebSocketServer } from 'ws';
import type { WireAttempt, WireJob } from '../../src/domain/wire/job.ts';
import type { Problem } from '../../src/domain/wire/problem.ts';
import type { WireWorker } from '../../src/domain/wire/worker.ts';

/** One request as it arrived. */
export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: unknown;
}

/** What a fixture answers: JSON with a status, or whatever it does with the response itself. */
export type Answer =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | ((response: ServerResponse) => void);

export interface Fixture {
  url: string;
  seen: Seen[];
}

/** A server on a free port that answers with `handle` and keeps what it saw; closed when the test ends. */
export async function serve(
  t: ExecutionContext,
  handle: (request: Seen) => Answer | Promise<Answer>,
  { takesSockets = false } = {},
): Promise<Fixture> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    read(request)
      .then(async (body) => {
        const url = new URL(request.url ?? '/', 'http://fixture');
        const { method = 'GET', headers } = request;
        const one = { method, path: url.pathname, query: url.searchParams, headers, body };
        seen.push(one);
        const answer = await handle(one);
        if (typeof answer === 'function') return answer(response);
        const { status = 200, json } = answer;
        const type = status >= 400 ? 'application/problem+json' : 'application/json';
        response.writeHead(status, { 'content-type': type, ...answer.headers }).end(JSON.stringify(json));
      })
      .catch((error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))));
  });
  const sockets = new WebSocketServer({ noServer: true });
  if (takesSockets) server.on('upgrade', (...upgrade) => sockets.handleUpgrade(...upgrade, () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function read(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString();
  if (request.headers['content-type'] === 'application/x-ndjson')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return text === '' ? undefined : JSON.parse(text);
}

/** An address where nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

export const jobId = '01990000-0000-7000-8000-0000000000aa';

/** A job as the API shows it. */
export function wireJob(over: Partial<WireJob> = {}): WireJob {
  const at = '2026-11-21T09:00:00.000Z';
  return {
    id: jobId,
    status: 'pending',
    prompt: 'Say hello',
    input: null,
    messages: null,
    provider: 'echo',
    model: null,
    priority: 'normal',
    tier: null,
    run: null,
    tags: [],
    params: {},
    metadata: {},
    created_at: at,
    created_by: null,
    updated_at: at,
    started_at: null,
    finished_at: null,
    not_before: null,
    enqueued_at: at,
    timeout_seconds: null,
    worker_id: null,
    heartbeat_at: null,
    stuck: false,
    attempt_count: 0,
    retry_count: 0,
    reap_count: 0,
    cost_usd: null,
    cost_status: 'none',
    waiting: null,
    route: [],
    attempts: [],
    result: null,
    error: null,
    ...over,
  };
}

/** An attempt at it that completed, from second 1 to 3.5 of its life. */
export function wireAttempt(over: Partial<WireAttempt> = {}): WireAttempt {
  return {
    number: 1,
    lease: 1,
    worker_id: 'w-1',
    provider: 'echo',
    model: 'echo',
    started_at: '2026-11-21T09:00:01.000Z',
    finished_at: '2026-11-21T09:00:03.500Z',
    outcome: 'completed',
    error: null,
    usage: null,
    cost_usd: 0.0012,
    cost_status: 'known',
    ...over,
  };
}

/** The same job, completed with this output. */
export function completedJob(output = 'hello', over: Partial<WireJob> = {}): WireJob {
  const usage = {
    input_tokens: 3,
    output_tokens: 5,
    cached_input_tokens: 0,
    reasoning_tokens: 0,
    total_tokens: 8,
  };
  const ran = { provider: 'echo', model: 'echo', worker_id: 'w-1' };
  return wireJob({
    status: 'completed',
    started_at: '2026-11-21T09:00:01.000Z',
    finished_at: '2026-11-21T09:00:03.500Z',
    worker_id: 'w-1',
    attempt_count: 1,
    cost_usd: 0.0012,
    cost_status: 'known',
    result: { output, finish_reason: 'stop', ...ran, usage, latency_ms: 2500, first_token_ms: 40 },
    ...over,
  });
}

/** An event stream of frames as docs/live-events.md has them. @param breaksOff as when the coordinator is killed. */
export function eventStream(
  frames: readonly { type: string; [key: string]: unknown }[],
  breaksOff = false,
): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = frames.map(
      (frame, index) => `id: ${index + 1}\nevent: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`,
    );
    response.write(`retry: 2000\n\n: ping\n\n${text.join('')}`, () =>
      breaksOff ? response.destroy() : response.end(),
    );
  };
}

/** The stream of a job that goes through these states, one after the other. */
export function streamOf(states: readonly WireJob[], breaksOff = false): Answer {
  const [first, ...rest] = states;
  return eventStream(
    [
      { type: 'hello' },
      { type: 'snapshot', data: { job: first, output: null } },
      ...rest.map((job) => ({ type: `job.${job.status}`, data: job })),
    ],
    breaksOff,
  );
}

export function wireWorker(over: Partial<WireWorker> = {}): WireWorker {
  return {
    id: '01990000-0000-7000-8000-0000000000b1',
    name: 'box-1',
    key: null,
    kind: 'local',
    providers: ['echo'],
    models: {},
    tags: ['gpu'],
    concurrency: 4,
    connected: true,
    paused: false,
    status: 'active',
    running_jobs: [],
    running: 0,
    version: '0.1.0',
    host: 'box',
    connected_at: '2026-11-21T09:00:00.000Z',
    last_heartbeat_at: '2026-11-21T09:00:00.000Z',
    refusals: [],
    completed: 7,
    failed: 1,
    ...over,
  };
}

export function problem(status: number, code: string, detail: string, over: Partial<Problem> = {}): Answer {
  const title = 'refused';
  return { status, json: { type: 'about:blank', title, status, detail, code, request_id: 'r-1', ...over } };
}
