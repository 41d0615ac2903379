import { isIP } from 'node:net';
import type { WebhookSettings } from '../config/config.ts';
import { webhookUrlFault } from '../domain/webhook.ts';
import { isInRanges, isPublic } from './addresses.ts';

export interface Address {
  address: string;
  family: number;
}

/** All addresses of a host. */
export type Resolve = (hostname: string) => Promise<Address[]>;

/** Where a message goes: all of the addresses were checked, and no other one is to be connected to. */
export interface Destination {
  url: URL;
  addresses: readonly [Address, ...Address[]];
}

/** Nothing may be sent there; the message is for people. */
export class Refused extends Error {}

/** Nothing was sent because this side was busy, which says nothing about the receiver; the message is for people. */
export class HeldUp extends Error {}

/**
 * Look a URL up and check all that it leads to. Whoever controls the name controls its addresses, and another lookup may
 * give others: connect to these.
 * @throws Refused; HeldUp.
 */
export async function destinationOf(
  text: string,
  settings: WebhookSettings,
  resolve: Resolve,
): Promise<Destination> {
  const fault = webhookUrlFault(text, settings);
  if (fault !== null) throw new Refused(fault);
  const url = new URL(text);
  // An IPv6 address is in brackets.
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const addresses = await addressesOf(hostname, resolve);
  for (const { address } of addresses) {
    if (isPublic(address) || settings.allowPrivate.includes(hostname)) continue;
    if (!isInRanges(address, settings.allowPrivate))
      throw new Refused(
        `${hostname} leads to ${address}, which is not on the internet; add it to webhooks.allow_private if it is meant`,
      );
  }
  return { url, addresses };
}

async function addressesOf(hostname: string, resolve: Resolve): Promise<[Address, ...Address[]]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  // A name that cannot be looked up leads nowhere.
  const [first, ...others] = await resolve(hostname).catch((error: unknown) => {
    if (error instanceof Refused || error instanceof HeldUp) throw error;
    return [];
  });
  if (first === undefined) throw new Refused(`${hostname} has no address`);
  return [first, ...others];
}
