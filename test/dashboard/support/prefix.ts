import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/**
 * A proxy that has the coordinator under a path of its own, as nginx would.
 * @param faults what its configuration lacks. @returns its address with that path.
 */
export async function startPrefixProxy(
  t: ExecutionContext,
  target: string,
  prefix: string,
  faults: { dropsUpgrade?: boolean; changesHost?: boolean } = {},
): Promise<string> {
  const { hostname, port, host } = new URL(target);
  const forward = ({ method, url = '', headers: sent }: IncomingMessage) => {
    const { upgrade, connection, ...others } = sent;
    const headers = {
      ...(faults.dropsUpgrade === true ? others : sent),
      ...(faults.changesHost === true ? { host } : {}),
    };
    return request({ hostname, port, method, headers, path: url.slice(prefix.length) || '/' });
  };
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
  // Without a listener Node takes it for any other request, as nginx does.
  if (faults.dropsUpgrade === true) return listening(t, server, prefix);
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
    onward.on('response', ({ statusCode }) => near.end(`HTTP/1.1 ${statusCode} Refused\r\n\r\n`));
    onward.on('error', () => near.destroy());
    onward.end();
  });
  return listening(t, server, prefix);
}

async function listening(t: ExecutionContext, server: Server, prefix: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`;
}
