import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { type Principal, roleMay } from '../domain/key.ts';
import { frameBytesMax, workerSubprotocol } from '../domain/workerProtocol.ts';
import type { Logger } from '../lib/log.ts';
import { WorkerSocket } from './workerSocket.ts';

/** Takes the sockets of workers. Koa sees no upgrade, so every check that is a worker's own stands here. */
export class WorkerGateway {
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: frameBytesMax,
    perMessageDeflate: false,
    clientTracking: true,
    handleProtocols: (offered) => (offered.has(workerSubprotocol) ? workerSubprotocol : false),
  });
  readonly #coordinator: Coordinator;
  readonly #keys: KeyRing;
  readonly #logger: Logger;

  constructor(options: { coordinator: Coordinator; keys: KeyRing; logger: Logger }) {
    this.#coordinator = options.coordinator;
    this.#keys = options.keys;
    this.#logger = options.logger;
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
        coordinator: this.#coordinator,
        logger: this.#logger,
      });
      const unwatch = this.#keys.watch(refusal, () => worker.keyRefused());
      webSocket.once('close', unwatch);
    });
    return null;
  }

  /** The status that refuses the upgrade, or whose key it is. */
  #refusal({ headers }: IncomingMessage): number | Principal {
    // Workers are no browsers: an Origin means that a web page tries to get in.
    if (headers.origin !== undefined) return 403;
    const principal = this.#keys.authenticate(headers.authorization);
    if (typeof principal === 'string') return 401;
    if (!roleMay(principal.role, 'worker')) return 403;
    if (this.#coordinator.status !== 'accepting' && this.#coordinator.status !== 'paused') return 503;
    return principal;
  }
}
