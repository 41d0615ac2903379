import type { Problem } from '../domain/wire/problem.ts';
import { ApiError, Unreachable } from './errors.ts';

export interface Connection {
  /** Without a slash at the end. */
  baseUrl: string;
  /** null: no key. */
  apiKey: string | null;
  fetch: typeof globalThis.fetch;
  /** null: that of the runtime. */
  userAgent: string | null;
}

export interface Call {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | number | readonly string[] | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as NDJSON, in place of `body`. */
  lines?: string;
  headers?: Record<string, string>;
  /** Milliseconds for the whole answer; for each part of a streamed one. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Send a request and parse its JSON.
 * @throws ApiError when the coordinator refuses or another server answers; Unreachable without an answer; the signal's
 * reason when that aborts.
 */
export async function ask<T>(connection: Connection, call: Call): Promise<T> {
  const { signal, timeoutMs } = call;
  const url = connection.baseUrl + call.path + queryString(call.query ?? {});
  const late = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await connection.fetch(url, {
      ...requestOf(connection, call),
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    // The answer may also be interrupted.
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    const why = late.aborted ? `no answer within ${Math.round(timeoutMs / 1000)} s` : reasonOf(error);
    throw new Unreachable(connection.baseUrl, why, { cause: error });
  }
  const json = parse(text);
  if (!response.ok) throw refusal(connection, response, json);
  if (json === undefined) throw new ApiError(response.status, { detail: notOurs(connection, response) });
  return json as T;
}

/**
 * Request NDJSON and yield its lines as they arrive, at the caller's pace.
 * @throws as `ask`; Unreachable also when the answer is interrupted.
 */
export async function* askLines<T>(connection: Connection, call: Call): AsyncGenerator<T> {
  let rest = '';
  for await (const { text, response } of askParts(connection, call)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const json = parse(line);
      if (json === undefined) throw new ApiError(response.status, { detail: notOurs(connection, response) });
      yield json as T;
    }
  }
  if (rest !== '') throw new Unreachable(connection.baseUrl, 'the answer broke off half way');
}

/**
 * Request a text and yield its parts as they arrive, at the caller's pace.
 * @throws as `ask`; Unreachable also when the answer is interrupted.
 */
export async function* askText(connection: Connection, call: Call): AsyncGenerator<string> {
  for await (const { text } of askParts(connection, call)) yield text;
}

/** An event of an event stream. */
export interface StreamEvent {
  /** For Last-Event-ID; null where the event has none. */
  id: string | null;
  data: unknown;
}

/**
 * Request an event stream and yield its events as they arrive, until the coordinator ends it. Comments reset
 * `timeoutMs`, and are not yielded.
 * @throws as `ask`; Unreachable also when it is interrupted.
 */
export async function* askEvents(connection: Connection, call: Call): AsyncGenerator<StreamEvent> {
  const headers = { accept: 'text/event-stream', ...call.headers };
  let rest = '';
  for await (const { text, response } of askParts(connection, { ...call, headers })) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const data = field('data');
      if (data === undefined) continue;
      const json = parse(data);
      if (json === undefined) throw new ApiError(response.status, { detail: notOurs(connection, response) });
      yield { id: field('id') ?? null, data: json };
    }
  }
}

/** The text of an answer in parts, as they arrive; `timeoutMs` is for each of them. */
async function* askParts(
  connection: Connection,
  call: Call,
): AsyncGenerator<{ text: string; response: Response }> {
  const { signal, timeoutMs } = call;
  const url = connection.baseUrl + call.path + queryString(call.query ?? {});
  const late = new AbortController();
  const inTime = async <R>(part: Promise<R>): Promise<R> => {
    const timer = setTimeout(() => late.abort(), timeoutMs);
    try {
      return await part;
    } catch (error) {
      signal?.throwIfAborted();
      const why = late.signal.aborted
        ? `nothing arrived for ${Math.round(timeoutMs / 1000)} s`
        : reasonOf(error);
      throw new Unreachable(connection.baseUrl, why, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
  const response = await inTime(
    connection.fetch(url, {
      ...requestOf(connection, call),
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    }),
  );
  if (!response.ok) throw refusal(connection, response, parse(await inTime(response.text())));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) break;
      yield { text: value, response };
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function requestOf(connection: Connection, call: Call): RequestInit {
  const body = call.lines ?? (call.body === undefined ? null : JSON.stringify(call.body));
  return { method: call.method ?? 'GET', headers: headersOf(connection, call), body };
}

function headersOf(
  { apiKey, userAgent }: Connection,
  { body, lines, headers }: Call,
): Record<string, string> {
  const type = lines === undefined ? 'application/json' : 'application/x-ndjson';
  return {
    accept: 'application/json',
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(userAgent === null ? {} : { 'user-agent': userAgent }),
    ...(body === undefined && lines === undefined ? {} : { 'content-type': type }),
    ...headers,
  };
}

function queryString(query: NonNullable<Call['query']>): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) params.append(key, String(item));
  }
  return params.size === 0 ? '' : `?${params}`;
}

/** @returns undefined when it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(connection: Connection, response: Response, json: unknown): ApiError {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : null;
  if (isProblem(json)) return new ApiError(response.status, json, retryAfterSeconds);
  return new ApiError(response.status, { detail: notOurs(connection, response) }, retryAfterSeconds);
}

function isProblem(json: unknown): json is Problem {
  return (
    typeof json === 'object' &&
    json !== null &&
    'code' in json &&
    typeof json.code === 'string' &&
    'detail' in json &&
    typeof json.detail === 'string'
  );
}

function notOurs({ baseUrl }: Connection, { status }: Response): string {
  return `${baseUrl} answered ${status}, but not as a coordinator would; is this its address, or is a proxy in between?`;
}

/** The failure's cause: the system's code where there is one. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.message : String(cause);
}
