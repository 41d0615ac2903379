import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';

/** Seconds after which a client asks again while the service starts. */
const startingSeconds = 1;

/**
 * An HTTP server that listens before there is anything to serve, so that a taken port is found before the start leaves
 * traces. Until `open` it answers every request with 503 and closes the connection.
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

  /** Serve from now on. */
  open(answer: RequestListener): void {
    this.#answer = answer;
  }

  /** Take no more connections and cut those there are. */
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
