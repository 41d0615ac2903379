import type { Clock } from '../domain/clock.ts';
import type { KeyClient } from '../domain/key.ts';
import { plainLine } from '../lib/plainText.ts';

/** Keys whose clients are remembered, and clients of each: some 6 MB. Beyond it those that were seen longest ago are forgotten. */
const keysMax = 1_000;
const clientsOfKeyMax = 20;
/** Characters of a name. */
const nameMax = 100;

interface Known {
  /** By name and address, in the order of the last use. */
  clients: Map<string, KeyClient>;
  /** Whether one was forgotten. */
  hasMore: boolean;
}

/** Which programs have used which key lately: for those who change it. In memory, since the start. */
export class KeyClients {
  readonly #clock: Clock;
  /** By key id, in the order of the last use. */
  readonly #keys = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param userAgent as the client sent it. @param address null when unknown. */
  note(keyId: string, userAgent: string, address: string | null): void {
    const name = userAgent.slice(0, nameMax);
    const known = this.#keys.get(keyId) ?? { clients: new Map<string, KeyClient>(), hasMore: false };
    touch(this.#keys, keyId, known);
    if (this.#keys.size > keysMax) dropFirst(this.#keys);
    // The same program on another machine is another client: its key has to be changed there.
    touch(known.clients, `${address} ${name}`, { name, address, at: this.#clock.now() });
    if (known.clients.size <= clientsOfKeyMax) return;
    dropOne(known.clients);
    known.hasMore = true;
  }

  /** The last one first, and whether others have used the key that are no longer known. */
  of(keyId: string): { clients: KeyClient[]; hasMore: boolean } {
    const { clients, hasMore } = this.#keys.get(keyId) ?? {
      clients: new Map<string, KeyClient>(),
      hasMore: false,
    };
    const lastFirst = [...clients.values()].reverse();
    return {
      clients: lastFirst.map((client) => ({ ...client, name: plainLine(client.name) || 'unknown' })),
      hasMore,
    };
  }
}

/** Put it at the end. */
function touch<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}

/**
 * Drop the client that was seen longest ago of those at the address that has most: names can be made up, and must not drive
 * out the programs of other machines.
 */
function dropOne(clients: Map<string, KeyClient>): void {
  const counts = new Map<string | null, number>();
  for (const { address } of clients.values()) counts.set(address, (counts.get(address) ?? 0) + 1);
  const most = Math.max(...counts.values());
  for (const [key, { address }] of clients) {
    if (counts.get(address) !== most) continue;
    clients.delete(key);
    return;
  }
}
