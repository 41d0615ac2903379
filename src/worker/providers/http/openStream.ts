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
import type { Patience } from './patience.ts';

/**
 * A connection is kept for the next request: a new one to a cloud provider costs three round trips. Servers close idle
 * ones after 5 s or more (Node, uvicorn, llama.cpp: 5 s), so ours are given up before that: a request that meets the end
 * of its connection fails, for nobody can tell whether the server had read it.
 */
const idleSocketMs = 4_000;
const kept = { keepAlive: true, timeout: idleSocketMs };
const agents = { 'http:': new HttpAgent(kept), 'https:': new HttpsAgent(kept) };
/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in large or small letters, as Node reads them. */
const proxied = {
  'http:': new HttpAgent({ ...kept, proxyEnv: process.env }),
  'https:': new HttpsAgent({ ...kept, proxyEnv: process.env }),
};

/** This machine's own servers are never asked through a proxy, whatever NO_PROXY says. */
function agentOf({ protocol, hostname }: URL): HttpAgent {
  const scheme = protocol === 'https:' ? 'https:' : 'http:';
  return (isLoopback(hostname) ? agents : proxied)[scheme];
}

export interface StreamRequest {
  method: 'GET' | 'POST';
  /** http or https. */
  url: URL;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** Told when there is a connection; when its signal fires the socket is closed. */
  patience: Patience;
}

export interface StreamAnswer {
  /** Any; a redirect is an answer like another and is not followed. */
  status: number;
  headers: IncomingHttpHeaders;
  /** The body's bytes, unpacked. Whoever destroys it closes the socket. Its errors are for `httpFailureOf`. */
  body: Readable;
}

/**
 * Send a request and hand over the answer as it comes. It is sent once, whatever becomes of its connection: a second one
 * might be answered, and paid, twice.
 * @throws HttpFailure; the reason of the signal when that fired.
 */
export async function openStream(request: StreamRequest): Promise<StreamAnswer> {
  const { signal } = request.patience;
  try {
    signal.throwIfAborted();
    const response = await send(request);
    const { statusCode: status = 0, headers } = response;
    return { status, headers, body: unpacked(response, headers['content-encoding']) };
  } catch (error) {
    throw signal.aborted ? signal.reason : httpFailureOf(error);
  }
}

function send({ url, method, headers, body, patience }: StreamRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === 'https:';
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const request: ClientRequest = (isSecure ? httpsRequest : httpRequest)(url, {
    method,
    headers: { 'accept-encoding': 'identity', ...headers, ...length },
    agent: agentOf(url),
  });
  let response: IncomingMessage | null = null;
  // A request whose answer has begun would tell the reader of a reset, whatever it is destroyed with.
  const onAbort = (): void => void (response ?? request).destroy(httpFailureOf(patience.signal.reason));
  patience.signal.addEventListener('abort', onAbort, { once: true });
  request.once('close', () => {
    patience.signal.removeEventListener('abort', onAbort);
    // Without an error when it switched to another protocol: Node ends the connection then and says nothing.
    reject(new HttpFailure('network', 'the connection ended without an answer', 'connection_broken'));
  });
  request.once('socket', (socket) => {
    // Through a tunnel of a proxy it is handed over when TLS is spoken already.
    const isUp = socket instanceof TLSSocket && socket.authorized;
    if (request.reusedSocket || isUp) patience.connected();
    else socket.once(isSecure ? 'secureConnect' : 'connect', () => patience.connected());
  });
  request.once('response', (answer) => {
    response = answer;
    resolve(answer);
  });
  // It may come again after the answer has begun: then it is the reader's.
  request.on('error', reject);
  request.end(body);
  return promise;
}

/** Nobody is asked to pack, and some proxies do. What is there of a piece is handed on at once. */
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
  // The reader meets the error on the stream that it reads.
  return pipeline(response, unpacker, () => {});
}
