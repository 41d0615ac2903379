import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { isLoopback } from '../../../lib/hosts.ts';
import { HttpFailure, httpFailureOf } from './httpFailure.ts';
import type { TimeoutWatch } from './timeoutWatch.ts';

/**
 * A connection is kept for the next request: a new one to a cloud provider costs three round trips. Servers close idle
 * ones after 5 s or more (Node, uvicorn, llama.cpp: 5 s), so ours are closed before that: a request that meets a
 * closing connection fails, because it is unknown whether the server has read it.
 */
const idleSocketMs = 4_000;
const kept = { keepAlive: true, timeout: idleSocketMs };
const agents = { 'http:': new HttpAgent(kept), 'https:': new HttpsAgent(kept) };
/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in upper or lower case, as Node reads them. */
const proxied = {
  'http:': new HttpAgent({ ...kept, proxyEnv: process.env }),
  'https:': new HttpsAgent({ ...kept, proxyEnv: process.env }),
};

/** Servers on this machine are never accessed through a proxy, whatever NO_PROXY says. */
function agentOf({ protocol, hostname }: URL): HttpAgent {
  const scheme = protocol === 'https:' ? 'https:' : 'http:';
  return (isLoopback(hostname) ? agents : proxied)[scheme];
}

export interface HttpRequest {
  method: 'GET' | 'POST';
  /** http or https. */
  url: URL;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** Notified of the connection; when its signal fires the socket is closed. */
  watch: TimeoutWatch;
}

export interface StreamAnswer {
  /** Any; redirects are returned and not followed. */
  status: number;
  headers: IncomingHttpHeaders;
  /** The body's bytes, decompressed. Destroying it closes the socket. Its errors are for `httpFailureOf`. */
  body: Readable;
}

/**
 * Send a request and return the answer as a stream. It is sent only once, whatever happens to its connection: a second
 * one might be answered, and billed, twice.
 * @throws HttpFailure; the reason of the signal when that fired.
 */
export async function openStream(request: HttpRequest): Promise<StreamAnswer> {
  const { signal } = request.watch;
  try {
    signal.throwIfAborted();
    const response = await send(request);
    const { statusCode: status = 0, headers } = response;
    return { status, headers, body: unpacked(response, headers['content-encoding']) };
  } catch (error) {
    throw signal.aborted ? signal.reason : httpFailureOf(error);
  }
}

function send({ url, method, headers, body, watch }: HttpRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === 'https:';
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const request: ClientRequest = (isSecure ? httpsRequest : httpRequest)(url, {
    method,
    headers: { 'accept-encoding': 'identity', ...headers, ...length },
    agent: agentOf(url),
  });
  let response: IncomingMessage | null = null;
  // Once its answer has begun, destroying the request would show the reader a reset, whatever the reason.
  const onAbort = (): void => void (response ?? request).destroy(httpFailureOf(watch.signal.reason));
  watch.signal.addEventListener('abort', onAbort, { once: true });
  request.once('close', () => {
    watch.signal.removeEventListener('abort', onAbort);
    // No error when it switched to another protocol: Node then ends the connection silently.
    reject(new HttpFailure('network', 'the connection ended without an answer', 'connection_broken'));
  });
  request.once('socket', (socket) => {
    // Through a proxy's tunnel, the socket already has TLS.
    const isUp = socket instanceof TLSSocket && socket.authorized;
    if (request.reusedSocket || isUp) watch.connected();
    else socket.once(isSecure ? 'secureConnect' : 'connect', () => watch.connected());
  });
  request.once('response', (answer) => {
    response = answer;
    resolve(answer);
  });
  // It may be emitted again after the answer has begun: then the reader handles it.
  request.on('error', reject);
  request.end(body);
  return promise;
}

/** We do not request compression, but some proxies use it. Each piece is passed on at once. */
function unpacked(response: IncomingMessage, encoding = 'identity'): Readable {
  const zlib = { flush: constants.Z_SYNC_FLUSH };
  const unpackers: Record<string, () => NodeJS.ReadWriteStream & Readable> = {
    gzip: () => createGunzip(zlib),
    'x-gzip': () => createGunzip(zlib),
    deflate: () => createInflate(zlib),
    br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  };
  const unpacker = unpackers[encoding.trim().toLowerCase()]?.();
  if (unpacker === undefined) return response;
  // The reader gets the error from its stream.
  return pipeline(response, unpacker, () => {});
}
