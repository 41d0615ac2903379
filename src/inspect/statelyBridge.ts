import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

/** The viewer's address: it cannot be served from here. */
const viewerOrigin = 'https://stately.ai';
/** Messages repeated for a page that opens later, as in @statelyai/inspect's own server. */
const messagesMax = 200;
const messageBytesMax = 256 * 1024;
/** Actors announced to a page that opens later; beyond it jobs are forgotten. */
const actorsMax = 200;
const jobSession = 'job ';

/** What is known about an actor: its announcement, and its newest state. */
interface Known {
  actor: string;
  snapshot: string | null;
}

/**
 * Passes the frames of @statelyai/inspect to a page that shows them in the Stately inspector. The library's own server
 * listens on every address and accepts every page's socket (0.7.2, dist/server.mjs); this one only listens on the
 * loopback interface, accepts frames only with a secret of this process, and sends them only to its own page.
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
   * Resolves when the library's socket is also open on its side. If it is closed before, the library treats it as
   * broken, and reopens it every 5 s for ever.
   */
  get fed(): Promise<void> {
    return this.#fed.promise;
  }

  /** For people: the page with the viewer in a frame. */
  get pageUrl(): string {
    return `http://127.0.0.1:${this.#port}/${this.#secret}`;
  }

  /** For the library: the address for its frames. */
  get inputUrl(): string {
    return `ws://127.0.0.1:${this.#port}/${this.#secret}/in`;
  }

  close(): void {
    for (const page of this.#pages) page.terminate();
    // The library reconnects a broken socket for ever, but not one that is closed.
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

  /** Every actor with its state, then the recent events. */
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

  /** The oldest job, or the oldest actor when there are none. */
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

/** The viewer announces itself, and accepts frames from then on. */
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
const send = (frame) => viewer.contentWindow.postMessage(frame, '${viewerOrigin}');
addEventListener('message', ({ origin, data }) => {
  if (origin !== '${viewerOrigin}' || data?.type !== '@statelyai.connected') return;
  isThere = true;
  for (const frame of waiting.splice(0)) send(frame);
});
new WebSocket('ws://' + location.host + location.pathname + '/out').addEventListener('message', ({ data }) => {
  const frame = JSON.parse(data);
  if (isThere) send(frame);
  else waiting.push(frame);
});
</script>
</html>
`;
}
