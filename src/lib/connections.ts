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

/** Between two looks at who does not read, ms; a timeout that is shorter is looked after as often as it is long. */
const lookMsMax = 5_000;
/** Requests that one connection may have sent before the answer to an earlier one is there. */
const waitingMax = 100;

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

/** A request under way. */
export interface Exchange {
  readonly principal: Principal;
  /** Whether all of the answer has left. */
  readonly isOver: boolean;
  /** End it now: the key is no longer taken. */
  refuse(): void;
}

/** What is known of a connection. */
interface Peer {
  socket: Socket;
  /** The network it comes from. */
  source: string;
  /** Whose place it has; null as long as no key was accepted on it. */
  owner: Principal | null;
  /** The newest request with a key. */
  exchange: Exchange | null;
  /** Requests that wait for the answers before theirs. */
  waiting: number;
}

export interface ConnectionsOptions {
  clock: Clock;
  max: () => number;
  /** The part of `max` that one key, or the strangers of one address, may have. */
  share: () => number;
  /** How long a client may take nothing at all, asked at every look. */
  unreadMs: () => number;
  figures: BoundFigures;
}

/**
 * Bounds what the TCP connections of a server can hold: their number, in all and for each key, and answers that nobody
 * reads. Node bounds the time of a request and the size of its head by itself, which is counted here; but an answer lies
 * in memory for as long as its client takes nothing of it.
 *
 * A connection is its key's from the first request that is accepted on it, and a stranger's before. Keys have places in
 * shares, with a reserve for operators and admins. Strangers have what is left: when all places are taken, the one that
 * came first goes, so a new connection always has the time to show its key.
 *
 * Costs a request one lookup. A look every five seconds finds who has something unread, and only those get a timeout.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #places: Places;
  readonly #peers = new Map<Duplex, Peer>();
  /** Those without an owner by their network, the oldest first. */
  readonly #strangers = new Map<string, Set<Socket>>();
  /** All of them, the oldest first. */
  readonly #allStrangers = new Set<Socket>();
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

  /** Look after the connections of a server from now on. */
  watch(server: Server): void {
    const { figures } = this.#options;
    server.on('connection', (socket: Socket) => this.#opened(socket));
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
  }

  get count(): number {
    return this.#peers.size;
  }

  close(): void {
    this.#cancelLook();
  }

  /**
   * The listener of a server for requests. What a client sends before it has an answer is handled when that has left, so
   * that no connection has two answers in memory; one that sends more than 100 such requests is cut.
   */
  inTurn(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (response.socket === null) this.#wait(request, response, listener);
      else listener(request, response);
    };
  }

  /** A key was accepted on a connection, which is now the key's. @returns null, or why it may have no more of them. */
  claim(socket: Duplex, principal: Principal): CoordinatorError | null {
    const peer = this.#peers.get(socket);
    if (peer === undefined || peer.owner?.keyId === principal.keyId) return null;
    const refusal = this.#places.enter(principal);
    if (refusal !== null) return refusal;
    if (peer.owner === null) this.#forgetStranger(peer);
    else this.#places.leave(peer.owner);
    peer.owner = principal;
    return null;
  }

  /** A request with a key is under way on a connection. It replaces the one before, which is over. */
  begin(socket: Duplex, exchange: Exchange): void {
    const peer = this.#peers.get(socket);
    if (peer !== undefined) peer.exchange = exchange;
  }

  /** Keys may have ended: end what is under way with them. Sockets and event streams see to themselves. */
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

  #opened(socket: Socket): void {
    const { max, figures } = this.#options;
    if (this.#peers.size >= max() && !this.#cutOldest(this.#allStrangers)) {
      figures.connectionRefused();
      socket.destroy();
      return;
    }
    const source = networkOf(socket.remoteAddress ?? '');
    const peer: Peer = { socket, source, owner: null, exchange: null, waiting: 0 };
    this.#peers.set(socket, peer);
    this.#addStranger(peer);
    socket.once('close', () => this.#closed(socket));
  }

  #closed(socket: Socket): void {
    const peer = this.#peers.get(socket);
    if (peer === undefined) return;
    this.#peers.delete(socket);
    if (peer.owner === null) this.#forgetStranger(peer);
    else this.#places.leave(peer.owner);
  }

  #addStranger({ socket, source }: Peer): void {
    const { max, share } = this.#options;
    const neighbours = this.#strangers.get(source) ?? new Set();
    if (neighbours.size >= Math.max(1, Math.round(max() * share()))) this.#cutOldest(neighbours);
    this.#strangers.set(source, neighbours.add(socket));
    this.#allStrangers.add(socket);
  }

  #forgetStranger({ socket, source }: Peer): void {
    const neighbours = this.#strangers.get(source);
    this.#allStrangers.delete(socket);
    neighbours?.delete(socket);
    if (neighbours?.size === 0) this.#strangers.delete(source);
  }

  /** @returns whether there was one. */
  #cutOldest([oldest]: ReadonlySet<Socket>): boolean {
    if (oldest === undefined) return false;
    this.#options.figures.connectionEnded('room');
    this.#closed(oldest);
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
   * The timer of a socket starts again whenever the system takes some of what is unread (Node looks at the queue of the
   * write under way too), so one that reads slowly is never cut.
   */
  #look(): void {
    const unreadMs = this.#options.unreadMs();
    for (const { socket } of this.#peers.values()) {
      const isUnread = socket.writableLength > 0;
      if (isUnread && socket.timeout !== unreadMs) socket.setTimeout(unreadMs);
      // An event stream that has caught up may be quiet for as long as it likes.
      if (!isUnread && socket.timeout === unreadMs) socket.setTimeout(0);
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
