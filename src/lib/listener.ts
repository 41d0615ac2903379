import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';

/** Seconds after which a client should retry while the service starts. */
const startingSeconds = 1;

/**
 * An HTTP server that listens before there is anything to serve, so that a port in use is found before the start
 * changes anything. Until `open` it answers every request with 503 and closes the connection.
 */
export class Listener {
  readonly server: Server;
  #answer: RequestListener = (_request, response) => {
    response.writeHead(503, {
      'Content-Type': 'application/problem+json',
      'Retry-After': startingSeconds,
      Connection: 'close',
    });
    response.end(starting);
  };

  constructor(options: ServerOptions) {
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

const starting = JSON.stringify({
  type: 'about:blank',
  title: 'Service Unavailable',
  status: 503,
  detail: 'The coordinator is starting; try again in a moment',
  code: 'starting',
});
