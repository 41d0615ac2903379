import type { IncomingHttpHeaders } from 'node:http';
import { Agent } from 'node:https';
import { WebSocket } from 'ws';
import { frameBytesMax, workerSubprotocol } from '../domain/workerProtocol.ts';
import { corkUntilTurn } from '../lib/corked.ts';
import { isLoopback } from '../lib/hosts.ts';
import type { Socket } from '../lib/socket.ts';

/**
 * Begin a connection to a coordinator.
 * @param onRefused told when the upgrade is answered with an HTTP status instead, and of the headers that explain it; the
 * socket closes after it.
 * @throws Error when the key cannot stand in a header, for one.
 */
export type Dial = (
  url: URL,
  apiKey: string,
  onRefused: (status: number, headers: IncomingHttpHeaders) => void,
) => Socket;

const handshakeMs = 10_000;

/** As the requests to providers; through a tunnel, for few proxies pass on an upgrade that is not hidden in TLS. */
const proxied = new Agent({ proxyEnv: process.env });

/** Over the network. Frames of one turn of the event loop leave in one write: 200 outcomes cost one system call. */
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
