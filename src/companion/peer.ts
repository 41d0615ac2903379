import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Columns of the table: number, local address, remote address, state, queues, timer, retransmits, user. */
const localColumn = 1;
const remoteColumn = 2;
const userColumn = 7;

/**
 * Whether the program at the other end of a connection over 127.0.0.1 may be of the user of this process. Linux knows the
 * owner of every socket; elsewhere, and where the table cannot be read, it may be.
 */
export function mayBeOwn({ remotePort, localPort }: Socket): boolean {
  if (process.platform !== 'linux' || remotePort === undefined || localPort === undefined) return true;
  let table: string;
  try {
    table = readFileSync('/proc/net/tcp', 'latin1');
  } catch {
    return true;
  }
  const user = ownerOf(table, remotePort, localPort);
  return user === null || user === process.getuid?.();
}

/**
 * The user id of the socket on `port` of 127.0.0.1 that is connected to `peer` there; null when the table lacks it.
 * @param table the text of /proc/net/tcp: https://docs.kernel.org/networking/proc_net_tcp.html
 */
export function ownerOf(table: string, port: number, peer: number): number | null {
  const address = (number: number): string =>
    `0100007F:${number.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of table.split('\n')) {
    const columns = line.trim().split(/\s+/);
    if (columns[localColumn] === address(port) && columns[remoteColumn] === address(peer)) {
      return Number(columns[userColumn]);
    }
  }
  return null;
}
