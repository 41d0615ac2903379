import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from './folder.ts';
import { until } from './process.ts';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** To the byte. */
  body: string;
}

export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  /** Once it has so many messages. */
  messages(count: number): Promise<Received[]>;
  /** Close the connections that are kept. */
  dropConnections(): void;
}

/** A real receiver of webhooks on the loopback interface. @param answer 200 unless given. @param at a free port unless given. */
export async function startReceiver(
  t: Owner,
  answer: (response: ServerResponse, count: number) => void = (response) => response.writeHead(200).end('ok'),
  at = { address: '127.0.0.1', port: 0 },
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body });
      answer(response, received.length);
    });
    response.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(at.port, at.address, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    dropConnections: () => server.closeIdleConnections(),
    messages: async (count) => {
      await until(`${count} messages`, () => received.length >= count);
      return received;
    },
  };
}
