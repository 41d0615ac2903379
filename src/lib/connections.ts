import { randomUUID } from 'node:crypto';
import { type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../domain/clock.ts';
import type { BoundFigures } from './boundFigures.ts';

/** Between two looks at who does not read, ms; a timeout that is shorter is looked after as often as it is long. */
const lookMsMax = 5_000;

/** What Node answers to a request that it cannot take; anything else that it cannot read is a 400. */
const statuses: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** What the answer says of each. */
const broken: Record<number, { code: string; detail: string }> = {
  400: { code: 'invalid_request', detail: 'The request is not HTTP/1.1 that can be read' },
  408: {
    code: 'request_timeout',
    detail:
      'The request was not there in time (http.head_timeout_seconds, http.body_timeout_seconds); send it again',
  },
  413: { code: 'payload_too_large', detail: 'The chunks of the body have too many extensions' },
  431: {
    code: 'headers_too_large',
    detail: 'The head of the request is larger than 16 KiB, or has more than 2,000 fields',
  },
};
/** How long what is still sent is read after an answer, so that the client gets that: a reset would take it away. */
const lingerMs = 1_000;

/**
 * Bounds what the TCP connections of a server can hold: their number, and answers that nobody reads. Node bounds the
 * time of a request and the size of its head by itself, which is counted here; but an answer lies in memory for as long
 * as its client takes nothing of it.
 * Costs a request nothing: a look every five seconds finds who has something unread, and only those get a timeout.
 */
export class Connections {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #unreadMs: () => number;
  readonly #open = new Set<Socket>();
  #cancelLook: () => void = () => {};

  /** @param options.unreadMs how long a client may take nothing at all, asked at every look. */
  constructor(options: {
    server: Server;
    clock: Clock;
    max: number;
    unreadMs: () => number;
    figures: BoundFigures;
  }) {
    const { server, clock, max, unreadMs, figures } = options;
    this.#server = server;
    this.#clock = clock;
    this.#unreadMs = unreadMs;
    server.maxConnections = max;
    server.on('drop', () => figures.connectionRefused());
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const status = statuses[error.code ?? ''] ?? (error.code?.startsWith('HPE_') ? 400 : null);
      if (status !== null) figures.requestBroken(status);
      refuse(socket, status ?? 400);
    });
    // Node asks its listeners to end the connection, also one that was kept open for a next request.
    server.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) figures.connectionUnread();
      socket.destroy();
    });
    this.#lookLater();
  }

  get count(): number {
    return this.#open.size;
  }

  close(): void {
    this.#cancelLook();
  }

  /**
   * The timer of a socket starts again whenever the system takes some of what is unread (Node looks at the queue of the
   * write under way too), so one that reads slowly is never cut.
   */
  #look(): void {
    const unreadMs = this.#unreadMs();
    for (const socket of this.#open) {
      const isUnread = socket.writableLength > 0;
      if (isUnread && socket.timeout !== unreadMs) socket.setTimeout(unreadMs);
      // An event stream that has caught up may be quiet for as long as it likes.
      if (!isUnread && socket.timeout === unreadMs) socket.setTimeout(this.#server.timeout);
    }
  }

  #lookLater(): void {
    const afterMs = Math.min(lookMsMax, Math.max(100, this.#unreadMs()));
    this.#cancelLook = this.#clock.after(afterMs, () => {
      this.#look();
      this.#lookLater();
    });
  }
}

/** Answer a request that cannot be taken with a problem, and end its connection. */
function refuse(socket: Duplex, status: number): void {
  // Node tells of each part that comes after the first fault, and one answer is enough.
  if (socket.writableEnded && !socket.destroyed) return;
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const title = STATUS_CODES[status];
  const problem = { type: 'about:blank', title, status, ...broken[status], request_id: requestId };
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/**
 * Whether an answer has begun, into which nothing may be said. Where Node keeps it has no public name; a test (floods)
 * notices when it has another one.
 */
function isAnswering(socket: Duplex): boolean {
  const answer = '_httpMessage' in socket ? socket._httpMessage : null;
  return answer instanceof ServerResponse && answer.headersSent;
}
