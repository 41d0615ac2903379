import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** A proxy that has the coordinator under a path of its own, as nginx would. @returns its address with that path. */
export async function startPrefixProxy(t: ExecutionContext, target: string, prefix: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const forward = ({ method, url = '', headers }: IncomingMessage) =>
    request({ hostname, port, method, headers, path: url.slice(prefix.length) || '/' });
  const isOurs = ({ url = '' }: IncomingMessage): boolean => url.startsWith(`${prefix}/`);
  const server = createServer((incoming, answer) => {
    if (!isOurs(incoming)) {
      answer.writeHead(404).end();
      return;
    }
    const onward = forward(incoming);
    incoming.pipe(onward);
    onward.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
  });
  server.on('upgrade', (incoming, near) => {
    if (!isOurs(incoming)) {
      near.destroy();
      return;
    }
    const onward = forward(incoming);
    onward.on('upgrade', (response, far, head) => {
      const lines = Object.entries(response.headers).map(([name, value]) => `${name}: ${value}`);
      near.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`);
      near.write(head);
      near.pipe(far).pipe(near);
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
    });
    onward.on('error', () => near.destroy());
    onward.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`;
}
