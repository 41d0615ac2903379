import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';

/**
 * An HTTP server that listens before there is anything to serve, so that a port in use is found before the start
 * changes anything. Until `open` it refuses every request.
 */
export class Listener {
  readonly server: Server;
  #answer: RequestListener;

  /** @param refuse answers until `open`. */
  constructor(options: ServerOptions, refuse: RequestListener) {
    this.#answer = refuse;
    this.server = createServer(options, (request, response) => this.#answer(request, response));
  }

  /** Start to serve. */
  open(answer: RequestListener): void {
    this.#answer = answer;
  }

  /** Accept no more connections and cut the open ones. */
  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
