import { isUtf8 } from 'node:buffer';
import { CoordinatorError } from '../domain/errors.ts';
import type { JobRequest } from '../domain/job.ts';
import { assertShape, jsonObject } from '../http/middleware/jsonObject.ts';
import { type DispatchRules, parseDispatch } from '../http/routes/jobs/schema.ts';
import { JsonScan } from '../lib/jsonScan.ts';

/*
 * Recognises the one request that a front answers: `POST /api/jobs` in its plainest form, HTTP/1.1 with a short JSON body of
 * known length, sent by most clients that dispatch. It is no HTTP parser: everything else, whatever is odd, long or wrong
 * in it, is not interpreted at all but left to the core, byte for byte, where Node's parser reads it.
 */

const start = Buffer.from('POST /api/jobs HTTP/1.1\r\n');
const endOfHead = '\r\n\r\n';
/** Bytes of a head; Node takes 16 KiB. */
const headMax = 8 * 1024;
/** Bytes of a body. A longer one costs the core more for its content than for its HTTP. */
const bodyMax = 12 * 1024;
/** Bytes of such a request. */
export const requestMax = headMax + bodyMax;
/** Characters of a request in JSON: longer responses are compressed, and counted until they are read. */
const textMax = 14 * 1024;

/** RFC 9110, 5.6.2 and 5.5, without bytes that are not ASCII. */
const fieldPattern = /^([!#$%&'*+.^_`|~\dA-Za-z-]+):[ \t]*([\t\x20-\x7e]*)$/;
const jsonPattern = /^application\/json(?:; ?charset=utf-8)?$/i;
const requestIdPattern = /^[\w.-]{1,64}$/;

/** Fields that decide how the rest of the message is read, or what its client expects before it goes on. */
const foreign = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'trailer',
  'proxy-connection',
  'http2-settings',
]);
/** Fields that are read; of each there may be one. */
const known = new Set([
  'host',
  'authorization',
  'content-type',
  'content-length',
  'connection',
  'user-agent',
  'x-request-id',
  'x-forwarded-for',
  'idempotency-key',
]);

/** What the head of a request says. */
export interface DispatchHead {
  authorization: string;
  host: string;
  userAgent: string;
  forwardedFor: string;
  idempotencyKey: string | null;
  /** null when the client sent none that can be used. */
  requestId: string | null;
  bodyBytes: number;
  /** Whether the client wants the connection to end with the response. */
  isLast: boolean;
}

export interface DispatchRequest {
  head: DispatchHead;
  /** Bytes of the whole request. */
  bytes: number;
  request: JobRequest;
  /** The same in JSON. */
  text: string;
}

/**
 * Read the request that some bytes begin with.
 * @param last of the same connection: clients send the same head again and again.
 * @returns `partial` when it may become one that a front answers, `other` when it is none.
 */
export function readDispatch(
  bytes: Buffer,
  rules: DispatchRules,
  last: KnownHead | null,
): DispatchRequest | 'partial' | 'other' {
  const known = last?.matches(bytes) === true ? last : null;
  const headEnd = known?.bytes.length ?? endOf(bytes);
  if (typeof headEnd === 'string') return headEnd;
  const head = known?.head ?? readHead(bytes.toString('latin1', start.length, headEnd - endOfHead.length));
  if (head === null) return 'other';
  const end = headEnd + head.bodyBytes;
  if (bytes.length < end) return 'partial';
  const request = readJob(bytes.subarray(headEnd, end), rules);
  if (request === null) return 'other';
  const text = JSON.stringify(request);
  return text.length > textMax ? 'other' : { head, bytes: end, request, text };
}

/** A head that was read before. */
export class KnownHead {
  readonly bytes: Buffer;
  readonly head: DispatchHead;

  /** @param request its first bytes are the head. */
  constructor(request: Buffer, { head, bytes }: DispatchRequest) {
    // A copy: the rest of the memory of what was read is not kept.
    this.bytes = Buffer.from(request.subarray(0, bytes - head.bodyBytes));
    this.head = head;
  }

  matches(bytes: Buffer): boolean {
    const { length } = this.bytes;
    return bytes.length >= length && this.bytes.compare(bytes, 0, length) === 0;
  }
}

/** Where the head ends. */
function endOf(bytes: Buffer): number | 'partial' | 'other' {
  const shown = Math.min(bytes.length, start.length);
  if (start.compare(bytes, 0, shown, 0, shown) !== 0) return 'other';
  const found = bytes.subarray(0, headMax).indexOf(endOfHead);
  if (found >= 0) return found + endOfHead.length;
  return bytes.length < headMax ? 'partial' : 'other';
}

/** @param lines without the request line. @returns null when it is not in its plainest form. */
function readHead(lines: string): DispatchHead | null {
  const fields = new Map<string, string>();
  for (const line of lines.split('\r\n')) {
    const match = fieldPattern.exec(line);
    const name = match?.[1]?.toLowerCase();
    if (match === null || name === undefined || foreign.has(name)) return null;
    if (!known.has(name)) continue;
    if (fields.has(name)) return null;
    fields.set(name, match[2]?.trimEnd() ?? '');
  }
  const authorization = fields.get('authorization') ?? '';
  const host = fields.get('host') ?? '';
  const length = fields.get('content-length') ?? '';
  const connection = fields.get('connection')?.toLowerCase() ?? 'keep-alive';
  if (authorization === '' || host === '') return null;
  if (!/^[1-9]\d{0,5}$/.test(length) || Number(length) > bodyMax) return null;
  if (!jsonPattern.test(fields.get('content-type') ?? '')) return null;
  if (connection !== 'keep-alive' && connection !== 'close') return null;
  const requestId = fields.get('x-request-id') ?? '';
  return {
    authorization,
    host,
    userAgent: fields.get('user-agent') ?? '',
    forwardedFor: fields.get('x-forwarded-for') ?? '',
    idempotencyKey: fields.get('idempotency-key') ?? null,
    requestId: requestIdPattern.test(requestId) ? requestId : null,
    bodyBytes: Number(length),
    isLast: connection === 'close',
  };
}

/** By the same checks as in the core. @returns null for any that is not right: the core says what is wrong. */
function readJob(body: Buffer, rules: DispatchRules): JobRequest | null {
  if (!isUtf8(body)) return null;
  const scan = new JsonScan();
  scan.feed(body);
  try {
    assertShape(scan);
    return parseDispatch(
      jsonObject(() => JSON.parse(body.toString())),
      rules,
    );
  } catch (error) {
    if (error instanceof CoordinatorError) return null;
    throw error;
  }
}
