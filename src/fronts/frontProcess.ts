/* The process of a front: listens beside the others on the public port, and serves its connections until the core stops it
   or has gone. */

import { createServer, Socket } from 'node:net';
import { messageOf } from '../domain/errors.ts';
import { FrameStream } from './frameStream.ts';
import { FrontConnections } from './frontConnections.ts';
import { type CoreTurn, type FrontSettings, frameDescriptor, type Order, type Report } from './messages.ts';

const settings: FrontSettings = JSON.parse(process.argv[2] ?? '{}');
const report = (message: Report): void => void process.send?.(message);

/** Messages on their way are sent first. */
function disconnect(): void {
  if (process.connected) process.disconnect?.();
}

// Ctrl-C reaches every process of a terminal: the core says when to end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// The core has gone, or wants this process to end.
process.on('disconnect', () => process.exit(0));

const stream = new Socket({ fd: frameDescriptor });
stream.on('error', () => process.exit(1));
stream.on('close', () => process.exit(0));
const frames = new FrameStream(stream, (text) => {
  const turn: CoreTurn = JSON.parse(text);
  connections.take(turn);
});
const connections = new FrontConnections({
  settings,
  send: (text) => frames.send(text),
  handOver: (socket, bytes, onSent) => {
    process.send?.({ type: 'connection', bytes } satisfies Report, socket, { keepOpen: false }, onSent);
  },
  onEmpty: disconnect,
});
const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => connections.add(socket));
server.on('error', (error: NodeJS.ErrnoException) => {
  report({ type: 'failed', code: error.code ?? 'unknown', detail: messageOf(error) });
  disconnect();
});
server.listen({ host: settings.host, port: settings.port, reusePort: true }, () =>
  report({ type: 'listening' }),
);

process.on('message', (order: Order) => {
  if (order.type === 'settings') connections.unreadMs = order.unreadMs;
  else {
    server.close();
    connections.stop();
  }
});
