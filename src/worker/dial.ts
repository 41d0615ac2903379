import type { IncomingHttpHeaders } from 'node:http';
import { Agent } from 'node:https';
import { WebSocket } from 'ws';
import { frameBytesMax, workerSubprotocol } from '../domain/workerProtocol.ts';
import { corkUntilTurn } from '../lib/corked.ts';
import { isLoopback } from '../lib/hosts.ts';
import type { Socket } from '../lib/socket.ts';

/**
 * Connect to a coordinator.
 * @param onRefused called with the HTTP status and headers when the upgrade is refused; the socket closes after it.
 * @throws Error when, for example, the key is not a valid header.
 */
export type Dial = (
  url: URL,
  apiKey: string,
  onRefused: (status: number, headers: IncomingHttpHeaders) => void,
) => Socket;

const handshakeMs = 10_000;

/**
 * The same proxies as for requests to providers; through a tunnel, because few proxies pass on an upgrade outside TLS.
 */
const proxied = new Agent({ proxyEnv: process.env });

/** Over the network. Frames of one turn of the event loop are sent in one write: 200 outcomes cost one system call. */
export const dialWebSocket: Dial = (url, apiKey, onRefused) => {
  const socket = new WebSocket(url, workerSubprotocol, {
    headers: { authorization: `Bearer ${apiKey}` },
    handshakeTimeout: handshakeMs,
    maxPayload: frameBytesMax,
    perMessageDeflate: false,
    ...(url.protocol === 'wss:' && !isLoopback(url.hostname) ? { agent: proxied } : {}),
  });
  let cork = () => {};
  socket.on('upgrade', (response) => {
    cork = corkUntilTurn(response.socket);
  });
  socket.on('unexpected-response', (_request, response) => {
    onRefused(response.statusCode ?? 0, response.headers);
    socket.terminate();
  });
  const send = socket.send.bind(socket);
  socket.send = (text: string) => {
    cork();
    send(text);
  };
  return socket;
};
