import type { Clock } from '../domain/clock.ts';
import type { KeyClient } from '../domain/key.ts';
import { plainLine } from '../lib/plainText.ts';

/** Keys whose clients are remembered, and clients of each: some 3 MB. Beyond it those that were seen longest ago are forgotten. */
const keysMax = 1_000;
const clientsOfKeyMax = 10;
/** Characters of a name. */
const nameMax = 100;

/** Which programs have used which key lately: for those who change it. In memory, since the start. */
export class KeyClients {
  readonly #clock: Clock;
  /** By key id and name, each in the order of the last use. */
  readonly #keys = new Map<string, Map<string, KeyClient>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param userAgent as the client sent it. @param address null when unknown. */
  note(keyId: string, userAgent: string, address: string | null): void {
    const name = userAgent.slice(0, nameMax);
    const clients = this.#keys.get(keyId) ?? new Map<string, KeyClient>();
    touch(this.#keys, keyId, clients, keysMax);
    touch(clients, name, { name, address, at: this.#clock.now() }, clientsOfKeyMax);
  }

  /** The last one first. */
  of(keyId: string): KeyClient[] {
    const clients = [...(this.#keys.get(keyId)?.values() ?? [])].reverse();
    return clients.map((client) => ({ ...client, name: plainLine(client.name) || 'unknown' }));
  }
}

/** Put it at the end, and drop the first where there are too many. */
function touch<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}
