import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { RoleRefused } from '../coordinator/roleRefusals.ts';
import { actorOf } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import { type Principal, roleMay } from '../domain/key.ts';
import { closeCodes, frameBytesMax, workerSubprotocol } from '../domain/workerProtocol.ts';
import { type BoundFigures, noFigures } from '../lib/boundFigures.ts';
import { clientAddress } from '../lib/clientAddress.ts';
import type { Connections } from '../lib/connections.ts';
import { corkUntilTurn } from '../lib/corked.ts';
import type { Logger } from '../lib/log.ts';
import { Arrivals } from './arrivals.ts';
import { guardFrames } from './frameGuard.ts';
import { ReadGate } from './readGate.ts';
import { OwnUnderWay, UnderWay } from './underWay.ts';
import { WorkerSocket } from './workerSocket.ts';

/** How long a worker may take to send hello, ms. */
const helloMs = 10_000;
/** How long it may take to answer a close before it is cut, ms. */
const closeMs = 5_000;

/** `closeTimeout` is missing in the library's types. */
const socketOptions: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  maxPayload: frameBytesMax,
  perMessageDeflate: false,
  clientTracking: true,
  closeTimeout: closeMs,
  handleProtocols: (offered) => (offered.has(workerSubprotocol) ? workerSubprotocol : false),
};

/** Accepts the sockets of workers. Koa sees no upgrade, so a worker's own checks are here. */
export class WorkerGateway {
  readonly #sockets = new WebSocketServer(socketOptions);
  readonly #coordinator: Coordinator;
  readonly #keys: KeyRing;
  readonly #connections: Connections;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #figures: BoundFigures;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #arrivals: Arrivals;
  readonly #underWay = new UnderWay();
  readonly #roleRefused: RoleRefused;

  /** @param options.figures counts workers that reach a bound. @param options.roleRefused for the audit log. */
  constructor(options: {
    coordinator: Coordinator;
    keys: KeyRing;
    connections: Connections;
    clock: Clock;
    logger: Logger;
    figures?: BoundFigures;
    /** The address of a request; by default that of the connection. */
    addressOf?: (request: IncomingMessage) => string;
    roleRefused: RoleRefused;
  }) {
    this.#coordinator = options.coordinator;
    this.#keys = options.keys;
    this.#connections = options.connections;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#figures = options.figures ?? noFigures;
    this.#addressOf = options.addressOf ?? ((request) => clientAddress(request, 0));
    this.#arrivals = new Arrivals(options.clock);
    this.#roleRefused = options.roleRefused;
  }

  /** End every connection at once. */
  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  /** Handle the upgrade to `/ws/worker`. @returns null, or the error that refuses it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): CoordinatorError | null {
    const principal = this.#principal(request);
    if (principal instanceof CoordinatorError) return principal;
    const refusal = this.#connections.claim(socket, principal);
    if (refusal !== null) return refusal;
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const gate = new ReadGate(webSocket);
      this.#watchArrivals(webSocket, socket, principal.keyId, gate);
      const worker = new WorkerSocket({
        socket: webSocket,
        key: { keyId: principal.keyId, name: principal.name, bounds: principal.bounds },
        by: { actor: actorOf(principal), address: this.#addressOf(request) },
        underWay: new OwnUnderWay(gate, this.#underWay),
        gate,
        beforeSend: corkUntilTurn(socket),
        coordinator: this.#coordinator,
        logger: this.#logger,
        onEnded: (reason) => this.#figures.socketEnded('worker', reason),
      });
      guardFrames(webSocket, {
        clock: this.#clock,
        gate,
        onSlowed: () => this.#figures.workerSlowed(),
        onFlood: (code) => this.#figures.socketEnded('worker', code),
      });
      const unwatch = this.#keys.watch(
        principal,
        () => worker.keyRefused(),
        (bounds) => worker.boundsChanged(bounds),
      );
      const cancelHello = this.#clock.after(helloMs, () => {
        if (!worker.hasGreeted) worker.close(closeCodes.badFrame, 'no hello received');
      });
      webSocket.once('close', () => {
        unwatch();
        cancelHello();
      });
    });
    return null;
  }

  /** Count the bytes of a frame before it is complete, which the library does not report. */
  #watchArrivals(webSocket: WebSocket, socket: Duplex, keyId: string, gate: ReadGate): void {
    const arrival = this.#arrivals.connection({
      keyId,
      gate,
      onHeld: () => this.#figures.workerHeld(),
      onLate: () => {
        this.#figures.socketEnded('worker', closeCodes.policyViolation);
        this.#logger.warn(
          { key_id: keyId },
          'a frame of a worker took too long to arrive; its connection is cut',
        );
        webSocket.terminate();
      },
    });
    // Before the library sees it: then bytes of a completed frame are not counted for the next.
    socket.prependListener('data', (piece: Buffer) => arrival.arrived(piece.length));
    webSocket.on('message', () => arrival.ended());
    webSocket.once('close', () => arrival.ended());
  }

  /** The error that refuses the upgrade, or the principal. */
  #principal(request: IncomingMessage): CoordinatorError | Principal {
    const { headers } = request;
    // Workers are not browsers: an Origin means that a web page is trying to connect.
    if (headers.origin !== undefined) return new CoordinatorError('forbidden', 'No browser may be a worker');
    const principal = this.#keys.authenticate(headers.authorization);
    if (typeof principal === 'string') {
      this.#coordinator.workerRefused(this.#addressOf(request), principal);
      return new CoordinatorError('authentication_failed', `Authentication failed: ${principal}`);
    }
    if (!roleMay(principal.role, 'worker')) {
      this.#roleRefused(request, principal, { path: '/ws/worker', needs: 'worker' });
      const message = `A key with the role ${principal.role} may not connect workers; it needs worker`;
      return new CoordinatorError('forbidden', message);
    }
    const { status } = this.#coordinator;
    if (status === 'accepting' || status === 'paused') return principal;
    return new CoordinatorError('draining', 'The coordinator is shutting down; connect again in a moment', {
      retryAfterSeconds: 5,
    });
  }
}
