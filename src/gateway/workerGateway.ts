import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Config } from '../config/config.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { type Principal, roleMay } from '../domain/key.ts';
import { frameBytesMax, workerSubprotocol } from '../domain/workerProtocol.ts';
import type { Logger } from '../lib/log.ts';
import { isKnownHost } from './hosts.ts';
import { WorkerSocket } from './workerSocket.ts';

const path = '/ws/worker';

/** Takes the sockets of workers on `/ws/worker`. Koa sees no upgrade, so every check stands here. */
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
  readonly #config: () => Config;
  readonly #logger: Logger;

  constructor(options: { coordinator: Coordinator; keys: KeyRing; config: () => Config; logger: Logger }) {
    this.#coordinator = options.coordinator;
    this.#keys = options.keys;
    this.#config = options.config;
    this.#logger = options.logger;
  }

  /** Listen for upgrades on `server`. */
  attach(server: Server): void {
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** End every connection at once. */
  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', (error) => this.#logger.debug({ error: error.message }, 'upgrade failed'));
    const refusal = this.#refusal(request);
    if (typeof refusal === 'number') {
      refuse(socket, refusal);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const worker = new WorkerSocket({
        socket: webSocket,
        coordinator: this.#coordinator,
        logger: this.#logger,
      });
      const unwatch = this.#keys.watch(refusal, () => worker.keyRefused());
      webSocket.once('close', unwatch);
    });
  }

  /** The status that refuses the upgrade, or whose key it is. */
  #refusal({ url, headers }: IncomingMessage): number | Principal {
    if (url?.split('?')[0] !== path) return 404;
    if (!isKnownHost(headers.host, this.#config())) return 403;
    // Workers are no browsers: an Origin means that a web page tries to get in.
    if (headers.origin !== undefined) return 403;
    const principal = this.#keys.authenticate(headers.authorization);
    if (typeof principal === 'string') return 401;
    if (!roleMay(principal.role, 'worker')) return 403;
    if (this.#coordinator.status !== 'accepting' && this.#coordinator.status !== 'paused') return 503;
    return principal;
  }
}

function refuse(socket: Duplex, status: number): void {
  const extra = status === 401 ? 'WWW-Authenticate: Bearer\r\n' : status === 503 ? 'Retry-After: 5\r\n' : '';
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${extra}Connection: close\r\nContent-Length: 0\r\n\r\n`,
  );
}
