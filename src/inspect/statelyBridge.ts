import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

/** Where the viewer lives: there is none that could be served from here. */
const viewerOrigin = 'https://stately.ai';
/** What is told again to a page that opens later, as in @statelyai/inspect's own server. */
const messagesMax = 200;
const messageBytesMax = 256 * 1024;
/** Actors that a page that opens later is told of before anything else; jobs are the ones that are forgotten. */
const actorsMax = 200;
const jobSession = 'job ';

/** What is known of an actor: how it was introduced, and its newest state. */
interface Known {
  actor: string;
  snapshot: string | null;
}

/**
 * Hands the frames of @statelyai/inspect to a page that shows them in the Stately inspector. The library's own server
 * listens on every address and takes every page's socket (0.7.2, dist/server.mjs); this one listens on the loopback
 * interface alone, takes frames from whoever knows a secret of this process, and tells them to its own page only.
 */
export class StatelyBridge {
  readonly #secret: string;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: messageBytesMax });
  readonly #server: Server;
  readonly #pages = new Set<WebSocket>();
  readonly #messages: string[] = [];
  readonly #actors = new Map<string, Known>();
  readonly #fed = Promise.withResolvers<void>();
  #port = 0;

  /** @param secret random, at least 16 bytes as hex; it is part of the addresses. */
  constructor(secret: string) {
    this.#secret = secret;
    this.#server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== `/${secret}`) {
        response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not here\n');
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...policy(secret) });
      response.end(pageOf(secret));
    });
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** @throws what `listen` throws. */
  async open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /**
   * Resolves when the library's socket is open on its side too. One that is closed before that counts as broken there, and
   * is opened again every 5 s for ever.
   */
  get fed(): Promise<void> {
    return this.#fed.promise;
  }

  /** For people: the page that frames the viewer. */
  get pageUrl(): string {
    return `http://127.0.0.1:${this.#port}/${this.#secret}`;
  }

  /** For the library: where it sends its frames. */
  get inputUrl(): string {
    return `ws://127.0.0.1:${this.#port}/${this.#secret}/in`;
  }

  close(): void {
    for (const page of this.#pages) page.terminate();
    // The library takes a broken socket for a reason to connect again for ever; one that is closed it leaves be.
    for (const socket of this.#sockets.clients) socket.close();
    this.#sockets.close();
    this.#server.closeIdleConnections();
    this.#server.close();
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const isInput = request.url === `/${this.#secret}/in` && request.headers.origin === undefined;
    const isPage =
      request.url === `/${this.#secret}/out` && request.headers.origin === `http://127.0.0.1:${this.#port}`;
    if (!isInput && !isPage) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => {});
      if (isPage) this.#welcome(webSocket);
      else this.#feed(webSocket);
    });
  }

  #feed(input: WebSocket): void {
    input.on('message', (data) => this.#tell(String(data)));
    input.once('pong', () => this.#fed.resolve());
    input.ping();
  }

  /** Every actor with the state that it is in, then what has happened lately. */
  #welcome(page: WebSocket): void {
    this.#pages.add(page);
    page.on('close', () => this.#pages.delete(page));
    for (const { actor, snapshot } of this.#actors.values()) {
      page.send(actor);
      if (snapshot !== null) page.send(snapshot);
    }
    for (const message of this.#messages) page.send(message);
  }

  #tell(message: string): void {
    this.#remember(message);
    for (const page of this.#pages) page.send(message);
  }

  #remember(message: string): void {
    const { type, sessionId } = JSON.parse(message) as { type: string; sessionId: string };
    if (type === '@xstate.actor') {
      this.#actors.delete(sessionId);
      this.#actors.set(sessionId, { actor: message, snapshot: null });
      if (this.#actors.size > actorsMax) this.#forgetOne();
      return;
    }
    const known = this.#actors.get(sessionId);
    if (type === '@xstate.snapshot' && known !== undefined) known.snapshot = message;
    this.#messages.push(message);
    if (this.#messages.length > messagesMax) this.#messages.shift();
  }

  /** The job that was met first, or whatever was when there are none. */
  #forgetOne(): void {
    const sessions = [...this.#actors.keys()];
    const gone = sessions.find((sessionId) => sessionId.startsWith(jobSession)) ?? sessions[0];
    if (gone !== undefined) this.#actors.delete(gone);
  }
}

function policy(nonce: string): Record<string, string> {
  return {
    'Content-Security-Policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; frame-src ${viewerOrigin}; connect-src ws://127.0.0.1:*; frame-ancestors 'none'; base-uri 'none'`,
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
  };
}

/** The viewer says that it is there, and takes frames from then on. */
function pageOf(secret: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>SVC in the Stately inspector</title>
<style nonce="${secret}">html, body, iframe { width: 100%; height: 100%; margin: 0; border: 0; }</style>
<iframe id="viewer" title="Stately inspector" src="${viewerOrigin}/inspect"></iframe>
<script nonce="${secret}">
const viewer = document.getElementById('viewer');
const waiting = [];
let isThere = false;
const tell = (frame) => viewer.contentWindow.postMessage(frame, '${viewerOrigin}');
addEventListener('message', ({ origin, data }) => {
  if (origin !== '${viewerOrigin}' || data?.type !== '@statelyai.connected') return;
  isThere = true;
  for (const frame of waiting.splice(0)) tell(frame);
});
new WebSocket('ws://' + location.host + location.pathname + '/out').addEventListener('message', ({ data }) => {
  const frame = JSON.parse(data);
  if (isThere) tell(frame);
  else waiting.push(frame);
});
</script>
</html>
`;
}
