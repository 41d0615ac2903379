import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { Address } from './destination.ts';

/** What a request says to an agent of `pinnedAgents`. */
export interface PinnedOptions extends RequestOptions {
  /** Of `pinOf`. */
  pin: string;
}

/** To one receiver: as many messages as are sent to one endpoint at a time. */
const keptMax = 4;
/** How long a connection is kept that is not used, ms: shorter than servers keep them. */
const keptMs = 4_000;

const kept = { keepAlive: true, maxFreeSockets: keptMax, timeout: keptMs };

/** Agents that keep connections, and use one again only for the addresses that it was allowed to lead to. */
export function pinnedAgents(): { plain: HttpAgent; tls: HttpsAgent } {
  return { plain: new PinnedHttpAgent(kept), tls: new PinnedHttpsAgent(kept) };
}

/** The same for the same addresses, in any order. */
export function pinOf(addresses: readonly Address[]): string {
  return addresses
    .map(({ address }) => address)
    .sort()
    .join();
}

class PinnedHttpAgent extends HttpAgent {
  override getName(options: ClientRequestArgs & { pin?: string } = {}): string {
    return `${super.getName(options)}:${options.pin ?? ''}`;
  }
}

class PinnedHttpsAgent extends HttpsAgent {
  override getName(options: RequestOptions & { pin?: string } = {}): string {
    return `${super.getName(options)}:${options.pin ?? ''}`;
  }
}
