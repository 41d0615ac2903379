import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

/** What an address is read from. */
interface Addressed {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

/**
 * The address a request comes from.
 * @param trustedProxies reverse proxies in front of the service. Each appends its client's address to X-Forwarded-For,
 * so the entry made by the first of them is counted from the right: anybody could have written what is left of it. With
 * fewer entries than proxies the address of the connection counts.
 * @returns an IP address; empty when the connection is already closed.
 */
export function clientAddress({ headers, socket }: Addressed, trustedProxies: number): string {
  const ownAddress = socket.remoteAddress ?? '';
  if (trustedProxies === 0) return ownAddress;
  const chain = String(headers['x-forwarded-for'] ?? '').split(',');
  const claimed = chain.at(-trustedProxies)?.trim() ?? '';
  return isIP(claimed) === 0 ? ownAddress : claimed;
}

/** Groups of an IPv6 address that name a network; the host chooses the rest. */
const networkGroups = 4;
const groupsOfAddress = 8;

/** What counts as one source: an IPv4 address, or the /64 of an IPv6 address, because one host has all of it. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const [left = [], right = []] = plain.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: groupsOfAddress - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].slice(0, networkGroups).join(':');
}
