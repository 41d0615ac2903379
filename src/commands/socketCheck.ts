import { WebSocket } from 'ws';
import { messageOf } from '../domain/errors.ts';
import { liveSubprotocol } from '../domain/liveProtocol.ts';
import type { Address } from './connection.ts';
import { type Finding, fault, ok } from './finding.ts';

const title = 'WebSocket';
const timeoutMs = 10_000;

/**
 * Whether a WebSocket reaches the coordinator: workers and the dashboard need one, and a proxy in between may pass
 * requests but no upgrades.
 */
export function checkSocket({ url, apiKey }: Pick<Address, 'url' | 'apiKey'>): Promise<Finding> {
  const headers = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  const address = new URL(`${url.replace(/\/+$/, '')}/ws`);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(address, liveSubprotocol, { headers, handshakeTimeout: timeoutMs });
  return new Promise((resolve) => {
    const found = (finding: Finding): void => {
      resolve(finding);
      socket.terminate();
    };
    socket.on('open', () => found(ok(title, `${address.href} opens`)));
    socket.on('unexpected-response', (_request, { statusCode = 0, headers: answered }) =>
      found(refusal(statusCode, [answered.server].flat()[0])),
    );
    socket.on('error', (error) =>
      found(fault(title, messageOf(error), `check the network to ${address.host}`)),
    );
  });
}

/** The coordinator answers 426 when a proxy removed the upgrade headers. */
function refusal(status: number, server: string | undefined): Finding {
  const through = server === undefined ? 'a proxy' : `the proxy (${server})`;
  if (status === 426)
    return fault(
      title,
      `${through} does not pass on the upgrade to a WebSocket (status 426)`,
      'make it pass on the headers Upgrade and Connection, over HTTP/1.1: docs/operations.md has an nginx block',
    );
  const isOurs = status === 401 || status === 403 || status === 429 || status === 503;
  return isOurs
    ? fault(title, `refused with status ${status}`, 'check the key above, and the log of the coordinator')
    : fault(title, `${through} answered ${status} instead of the coordinator`, 'check its log');
}
