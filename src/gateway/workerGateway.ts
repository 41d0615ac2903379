import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { RoleRefused } from '../coordinator/roleRefusals.ts';
import type { Clock } from '../domain/clock.ts';
import { type Principal, roleMay } from '../domain/key.ts';
import { closeCodes, frameBytesMax, workerSubprotocol } from '../domain/workerProtocol.ts';
import { type BoundFigures, noFigures } from '../lib/boundFigures.ts';
import { corkUntilTurn } from '../lib/corked.ts';
import type { Logger } from '../lib/log.ts';
import { guardFrames } from './frameGuard.ts';
import { WorkerSocket } from './workerSocket.ts';

/** How long a worker may take to say hello, ms. */
const helloMs = 10_000;
/** How long it may take to answer a close before it is cut off, ms. */
const closeMs = 5_000;

/** `closeTimeout` is missing in the types of the library. */
const socketOptions: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  maxPayload: frameBytesMax,
  perMessageDeflate: false,
  clientTracking: true,
  closeTimeout: closeMs,
  handleProtocols: (offered) => (offered.has(workerSubprotocol) ? workerSubprotocol : false),
};

/** Takes the sockets of workers. Koa sees no upgrade, so every check that is a worker's own stands here. */
export class WorkerGateway {
  readonly #sockets = new WebSocketServer(socketOptions);
  readonly #coordinator: Coordinator;
  readonly #keys: KeyRing;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #figures: BoundFigures;
  readonly #roleRefused: RoleRefused;

  /** @param options.figures told when a worker reaches a bound. @param options.roleRefused for the audit log. */
  constructor(options: {
    coordinator: Coordinator;
    keys: KeyRing;
    clock: Clock;
    logger: Logger;
    figures?: BoundFigures;
    roleRefused: RoleRefused;
  }) {
    this.#coordinator = options.coordinator;
    this.#keys = options.keys;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#figures = options.figures ?? noFigures;
    this.#roleRefused = options.roleRefused;
  }

  /** End every connection at once. */
  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  /** Take the upgrade to `/ws/worker`. @returns null, or the status that refuses it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): number | null {
    const refusal = this.#refusal(request);
    if (typeof refusal === 'number') return refusal;
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const worker = new WorkerSocket({
        socket: webSocket,
        beforeSend: corkUntilTurn(socket),
        coordinator: this.#coordinator,
        logger: this.#logger,
        onEnded: (reason) => this.#figures.socketEnded('worker', reason),
      });
      guardFrames(webSocket, {
        clock: this.#clock,
        onSlowed: () => this.#figures.workerSlowed(),
        onFlood: (code) => this.#figures.socketEnded('worker', code),
      });
      const unwatch = this.#keys.watch(refusal, () => worker.keyRefused());
      const cancelHello = this.#clock.after(helloMs, () => {
        if (!worker.hasGreeted) worker.close(closeCodes.badFrame, 'no hello came');
      });
      webSocket.once('close', () => {
        unwatch();
        cancelHello();
      });
    });
    return null;
  }

  /** The status that refuses the upgrade, or whose key it is. */
  #refusal(request: IncomingMessage): number | Principal {
    const { headers } = request;
    // Workers are no browsers: an Origin means that a web page tries to get in.
    if (headers.origin !== undefined) return 403;
    const principal = this.#keys.authenticate(headers.authorization);
    if (typeof principal === 'string') return 401;
    if (!roleMay(principal.role, 'worker')) {
      this.#roleRefused(request, principal, { path: '/ws/worker', needs: 'worker' });
      return 403;
    }
    if (this.#coordinator.status !== 'accepting' && this.#coordinator.status !== 'paused') return 503;
    return principal;
  }
}
