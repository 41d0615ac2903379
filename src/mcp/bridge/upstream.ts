import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../domain/errors.ts';
import { cutText } from '../../lib/cutText.ts';
import { type Fields, fieldsOf, isFields, parseFields } from '../../lib/fields.ts';
import { version } from '../../lib/version.ts';
import type { Settings } from './settings.ts';

const protocolVersion = '2026-07-28';
/** For one answer. A tool waits 50 s at most. */
const answerMs = 75_000;
/** Bytes of one answer: more than any tool returns. */
const answerBytesMax = 32 * 1024 ** 2;

/** Names the bridge in the logs of proxies. */
const userAgent = `svc-mcp/${version}`;

/** One request for the coordinator. */
export interface Call {
  method: string;
  params: Fields;
  /** Of the tool or the resource, for the header; null for others. */
  name: string | null;
  signal: AbortSignal;
  /** Called with the params of each report of progress; null when nobody asks for any. */
  onProgress: ((params: Fields) => void) | null;
}

/** What came back. */
export type Reply =
  | { kind: 'result'; result: Fields }
  /** An error of the protocol, for the client. */
  | { kind: 'error'; code: number; message: string; data: unknown }
  | { kind: 'refused'; message: string }
  /** No answer, or one that asks to come again. `isUnsent`: the coordinator has done nothing. */
  | { kind: 'away'; message: string; isUnsent: boolean; retryAfterMs: number | null };

/**
 * Send one request to POST /mcp, in the form of the protocol in which requests are independent.
 * @throws the reason of the signal when that aborts.
 */
export async function ask({ url, apiKey }: Settings, call: Call): Promise<Reply> {
  const late = AbortSignal.timeout(answerMs);
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/mcp`, {
      method: 'POST',
      // A redirect would take the key elsewhere.
      redirect: 'error',
      headers: headersOf(call, apiKey),
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: call.method,
        params: { ...call.params, _meta: metaOf(call) },
      }),
      signal: AbortSignal.any([call.signal, late]),
    });
    return await readReply(response, call, url);
  } catch (error) {
    call.signal.throwIfAborted();
    const code = codeOf(error);
    const why = late.aborted ? `no answer within ${answerMs / 1000} s` : reasonOf(error);
    return {
      kind: 'away',
      message: `The coordinator at ${url} cannot be reached (${why})`,
      isUnsent: code !== null && unsentCodes.includes(code),
      retryAfterMs: null,
    };
  }
}

/** The connection was never there. */
const unsentCodes: readonly string[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

function headersOf({ method, name }: Call, apiKey: string | null): Record<string, string> {
  return {
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'user-agent': userAgent,
    'mcp-protocol-version': protocolVersion,
    'mcp-method': method,
    ...(name === null ? {} : { 'mcp-name': name }),
  };
}

function metaOf({ onProgress }: Call): Fields {
  return {
    [PROTOCOL_VERSION_META_KEY]: protocolVersion,
    [CLIENT_CAPABILITIES_META_KEY]: {},
    [CLIENT_INFO_META_KEY]: { name: 'svc-mcp', version },
    ...(onProgress === null ? {} : { progressToken: 1 }),
  };
}

async function readReply(response: Response, call: Call, url: string): Promise<Reply> {
  const { status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const message = isStream ? await lastMessage(response, call) : parseFields(await textOf(response));
  const said = messageIn(message);
  if (status === 401 || status === 403)
    return { kind: 'refused', message: said ?? `The coordinator at ${url} refused the key (${status})` };
  if ([429, 502, 503, 504].includes(status)) {
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    return {
      kind: 'away',
      message: said ?? `${url} answered ${status}`,
      isUnsent: status === 429 || status === 503,
      retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
    };
  }
  if (isFields(message?.result)) return { kind: 'result', result: message.result };
  if (isFields(message?.error)) {
    const { code, data } = message.error;
    return { kind: 'error', code: typeof code === 'number' ? code : -32603, message: said ?? '', data };
  }
  const advice = 'is this the address of a coordinator, and is front.mcp on there?';
  return { kind: 'error', code: -32603, message: `${url} answered ${status}, ${advice}`, data: undefined };
}

function messageIn(message: Fields | null): string | null {
  const { message: said, detail } = { ...message, ...fieldsOf(message?.error) };
  const text = said ?? detail;
  return typeof text === 'string' ? text : null;
}

async function textOf(response: Response): Promise<string> {
  const parts: string[] = [];
  for await (const part of bounded(response)) parts.push(part);
  return parts.join('');
}

/** The answer at the end of a stream, and the progress before it. */
async function lastMessage(response: Response, { onProgress }: Call): Promise<Fields | null> {
  let rest = '';
  let answer: Fields | null = null;
  for await (const part of bounded(response)) {
    const blocks = (rest + part).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = parseFields(dataOf(block));
      if (message?.method === 'notifications/progress') onProgress?.(fieldsOf(message.params));
      else if (message !== null && 'id' in message) answer = message;
    }
  }
  if (answer === null) throw new Error('the stream ended without an answer');
  return answer;
}

function dataOf(block: string): string {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice('data:'.length).trimStart()).join('\n');
}

async function* bounded({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`the answer has more than ${answerBytesMax} bytes`);
    yield decoder.decode(chunk, { stream: true });
  }
}

/** The code of the system, or what else is known: `unexpected redirect`. */
function reasonOf(error: unknown): string {
  return codeOf(error) ?? cutText(messageOf(causeOf(error)), 200);
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

function codeOf(error: unknown): string | null {
  const cause = causeOf(error);
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
}
