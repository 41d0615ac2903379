import { randomUUID } from 'node:crypto';
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../domain/clock.ts';
import type { CoordinatorError } from '../domain/errors.ts';
import type { Principal } from '../domain/key.ts';
import type { BoundFigures } from './boundFigures.ts';
import { networkOf } from './clientAddress.ts';
import { Places } from './places.ts';

/** Interval between two checks for slow readers, ms; a shorter timeout is checked at its own interval. */
const lookMsMax = 5_000;
/** Requests that one connection may have sent before an earlier one is answered. */
const waitingMax = 100;

/** What Node answers to a request that it rejects; anything else that it cannot parse is a 400. */
const statuses: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** The body of each of these answers. */
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
/** How long the service reads on after such an answer, so that the client receives it: a reset would discard it. */
const lingerMs = 1_000;

/** A running request. */
export interface Exchange {
  readonly principal: Principal;
  /** Whether the whole answer was sent. */
  readonly isOver: boolean;
  /** End it now: its key is no longer valid. */
  refuse(): void;
}

/** What the bounds need of a connection: a socket, or a connection that a front serves. */
export interface BoundConnection {
  /** Bytes that its client has not read. */
  readonly writableLength: number;
  readonly timeout?: number | undefined;
  setTimeout(ms: number): unknown;
  destroy(): unknown;
}

/** What is known about a connection. */
interface Peer {
  connection: BoundConnection;
  /** Its network. */
  source: string;
  /** The principal whose place it takes; null until a key is accepted on it. */
  owner: Principal | null;
  /** The newest request with a key. */
  exchange: Exchange | null;
  /** Requests that wait for the answers to earlier ones. */
  waiting: number;
  /** Whether its request may take longer than Node lets it. */
  isUploading: boolean;
}

export interface ConnectionsOptions {
  clock: Clock;
  max: () => number;
  /** The part of `max` for one key, or for all connections without a key from one address. */
  share: () => number;
  /** How long a client may read nothing at all; read at every check. */
  unreadMs: () => number;
  figures: BoundFigures;
}

/**
 * Bounds what the TCP connections of a server can hold: their number, in all and for each key, and answers that nobody
 * reads. Node itself bounds the time of a request and the size of its head, which is only counted here; but an answer
 * stays in memory for as long as its client does not read it.
 *
 * A connection belongs to a key from the first request that is accepted on it, and to a stranger before. Keys have
 * places in shares, with a reserve for operators and admins. Strangers get what is left: when all places are taken, the
 * oldest stranger is cut, so a new connection always has the time to present its key.
 *
 * A request costs one lookup. A check every five seconds finds the connections with unread data, and only those get a
 * timeout.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #places: Places;
  readonly #peers = new Map<Duplex | BoundConnection, Peer>();
  /** Connections without an owner by network, the oldest first. */
  readonly #strangers = new Map<string, Set<BoundConnection>>();
  /** All connections without an owner, the oldest first. */
  readonly #allStrangers = new Set<BoundConnection>();
  #cancelLook: () => void = () => {};

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#places = new Places({
      things: 'connections',
      settings: { max: 'http.max_connections', share: 'http.shares.connections' },
      max: options.max,
      share: options.share,
    });
    this.#lookLater();
  }

  /** Start to bound the connections of a server. */
  watch(server: Server): void {
    const { figures } = this.#options;
    server.on('connection', (socket: Socket) => {
      if (this.open(socket, socket.remoteAddress ?? '')) socket.once('close', () => this.closed(socket));
      else socket.destroy();
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // Node says so once for each request, and leaves it to this listener what to do.
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && this.#peers.get(socket)?.isUploading === true) return;
      const status = statuses[error.code ?? ''] ?? (error.code?.startsWith('HPE_') ? 400 : null);
      if (status !== null) figures.requestBroken(status);
      refuse(socket, status ?? 400);
    });
    // Node emits this on the server, also for an idle kept-alive connection.
    server.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) figures.connectionUnread();
      socket.destroy();
    });
  }

  get count(): number {
    return this.#peers.size;
  }

  close(): void {
    this.#cancelLook();
  }

  /**
   * Wraps a request listener: requests that a client sends before it has an answer wait until that answer was sent, so
   * that no connection has two answers in memory. A client that sends more than 100 such requests is cut.
   */
  inTurn(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (response.socket === null) this.#wait(request, response, listener);
      else listener(request, response);
    };
  }

  /**
   * A key was accepted on a connection, which now belongs to that key. @returns null, or why the key may have no more.
   */
  claim(socket: Duplex | BoundConnection, principal: Principal): CoordinatorError | null {
    const peer = this.#peers.get(socket);
    if (peer === undefined || peer.owner?.keyId === principal.keyId) return null;
    const refusal = this.#places.enter(principal);
    if (refusal !== null) return refusal;
    if (peer.owner === null) this.#forgetStranger(peer);
    else this.#places.leave(peer.owner);
    peer.owner = principal;
    return null;
  }

  /** From now on, or no longer, the request on a connection may take any time to arrive: who reads it bounds that. */
  setUploading(socket: Duplex, isUploading: boolean): void {
    const peer = this.#peers.get(socket);
    if (peer !== undefined) peer.isUploading = isUploading;
  }

  /** A request with a key has started on a connection. It replaces the previous one, which is over. */
  begin(socket: Duplex | BoundConnection, exchange: Exchange): void {
    const peer = this.#peers.get(socket);
    if (peer !== undefined) peer.exchange = exchange;
  }

  /** Keys may have become invalid: end the requests running with them. Sockets and event streams do this themselves. */
  endRefused(isTaken: (principal: Principal) => boolean): void {
    for (const peer of this.#peers.values()) {
      const { owner, exchange } = peer;
      if (exchange !== null && !exchange.isOver && !isTaken(exchange.principal)) {
        this.#options.figures.connectionEnded('key');
        exchange.refuse();
      }
      if (owner !== null && !isTaken(owner)) {
        this.#places.leave(owner);
        peer.owner = null;
        this.#addStranger(peer);
      }
    }
  }

  /**
   * Count a connection that was opened. @param address of its client.
   * @returns false when there is no room for it: it is not counted, and must be closed.
   */
  open(connection: BoundConnection, address: string): boolean {
    const { max, figures } = this.#options;
    if (this.#peers.size >= max() && !this.#cutOldest(this.#allStrangers)) {
      figures.connectionRefused();
      return false;
    }
    const source = networkOf(address);
    const peer: Peer = { connection, source, owner: null, exchange: null, waiting: 0, isUploading: false };
    this.#peers.set(connection, peer);
    this.#addStranger(peer);
    return true;
  }

  /** A connection has ended; another call does nothing. */
  closed(connection: BoundConnection): void {
    const peer = this.#peers.get(connection);
    if (peer === undefined) return;
    this.#peers.delete(connection);
    if (peer.owner === null) this.#forgetStranger(peer);
    else this.#places.leave(peer.owner);
  }

  #addStranger({ connection, source }: Peer): void {
    const { max, share } = this.#options;
    const neighbours = this.#strangers.get(source) ?? new Set();
    if (neighbours.size >= Math.max(1, Math.round(max() * share()))) this.#cutOldest(neighbours);
    this.#strangers.set(source, neighbours.add(connection));
    this.#allStrangers.add(connection);
  }

  #forgetStranger({ connection, source }: Peer): void {
    const neighbours = this.#strangers.get(source);
    this.#allStrangers.delete(connection);
    neighbours?.delete(connection);
    if (neighbours?.size === 0) this.#strangers.delete(source);
  }

  /** @returns whether there was one. */
  #cutOldest([oldest]: ReadonlySet<BoundConnection>): boolean {
    if (oldest === undefined) return false;
    this.#options.figures.connectionEnded('room');
    this.closed(oldest);
    oldest.destroy();
    return true;
  }

  #wait(request: IncomingMessage, response: ServerResponse, listener: RequestListener): void {
    const peer = this.#peers.get(request.socket);
    if (peer === undefined) return;
    if (peer.waiting >= waitingMax) {
      if (!request.socket.destroyed) this.#options.figures.connectionEnded('pipelined');
      request.socket.destroy();
      return;
    }
    peer.waiting += 1;
    response.once('socket', () => {
      peer.waiting -= 1;
      listener(request, response);
    });
  }

  /**
   * The timer of a socket restarts whenever the system accepts some unread data (Node also looks at the queue of the
   * write in progress), so a slow reader is never cut.
   */
  #look(): void {
    const unreadMs = this.#options.unreadMs();
    for (const { connection } of this.#peers.values()) {
      const isUnread = connection.writableLength > 0;
      if (isUnread && connection.timeout !== unreadMs) connection.setTimeout(unreadMs);
      // An event stream that has caught up may be idle for as long as it likes.
      if (!isUnread && connection.timeout === unreadMs) connection.setTimeout(0);
    }
  }

  #lookLater(): void {
    const afterMs = Math.min(lookMsMax, Math.max(100, this.#options.unreadMs()));
    this.#cancelLook = this.#options.clock.after(afterMs, () => {
      this.#look();
      this.#lookLater();
    });
  }
}

/** Answer an invalid request with a problem document, and end its connection. */
function refuse(socket: Duplex, status: number): void {
  // Node reports each part that follows the first fault; one answer is enough.
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
 * Whether an answer has begun, so that nothing else may be written. Node keeps this in a private field; a test (floods)
 * notices when its name changes.
 */
function isAnswering(socket: Duplex): boolean {
  const answer = '_httpMessage' in socket ? socket._httpMessage : null;
  return answer instanceof ServerResponse && answer.headersSent;
}
