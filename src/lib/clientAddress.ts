import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

/**
 * Where a request comes from.
 * @param trustedProxies reverse proxies that stand before the service. Each adds whom it was asked by to
 * X-Forwarded-For, so the entry that the first of them has made is counted from the right: what stands left of it could
 * have been written by anybody. With fewer entries than proxies it is the connection that counts.
 * @returns an IP address; empty when the connection is gone already.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const ownAddress = socket.remoteAddress ?? '';
  if (trustedProxies === 0) return ownAddress;
  const chain = String(headers['x-forwarded-for'] ?? '').split(',');
  const claimed = chain.at(-trustedProxies)?.trim() ?? '';
  return isIP(claimed) === 0 ? ownAddress : claimed;
}

/** Groups of an IPv6 address that name a network; the rest is the host's own choice. */
const networkGroups = 4;
const groupsOfAddress = 8;

/** Who is counted as one: an IPv4 address, or the /64 of an IPv6 address, all of which one host has to itself. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const [left = [], right = []] = plain.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: groupsOfAddress - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].slice(0, networkGroups).join(':');
}
