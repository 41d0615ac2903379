import { timingSafeEqual } from 'node:crypto';
import type { Clock, Random } from '../domain/clock.ts';
import type { KeyRecord, Principal, Role } from '../domain/key.ts';
import { hashSecret, makeKey, parseKey } from './keyFormat.ts';

/** Id of the admin key that stands in the coordinator's environment. */
export const environmentKeyId = 'environment';

/** The keys that are taken, and the only place that compares secrets. */
export class KeyRing {
  readonly #clock: Clock;
  readonly #keys = new Map<string, KeyRecord>();
  readonly #environmentHash: string | null;

  /** @param environmentKey an admin key that is always valid; null for none. */
  constructor(options: { clock: Clock; environmentKey: string | null; keys: readonly KeyRecord[] }) {
    this.#clock = options.clock;
    this.#environmentHash = options.environmentKey === null ? null : hashSecret(options.environmentKey);
    for (const key of options.keys) this.put(key);
  }

  get size(): number {
    return this.#keys.size;
  }

  put(key: KeyRecord): void {
    this.#keys.set(key.id, key);
  }

  /**
   * Who makes a request.
   * @param authorization the header's value as it came.
   * @returns the principal, or in a few words why not. Never says whether an id exists.
   */
  authenticate(authorization: string | undefined): Principal | string {
    if (authorization === undefined || authorization === '') return 'no Authorization header';
    const match = /^Bearer (\S+)$/i.exec(authorization);
    const key = match?.[1];
    if (key === undefined) return 'the Authorization header must be: Bearer <key>';
    if (this.#environmentHash !== null && isEqual(hashSecret(key), this.#environmentHash)) {
      return { keyId: environmentKeyId, role: 'admin' };
    }
    const parts = parseKey(key);
    const record = parts === null ? undefined : this.#keys.get(parts.id);
    // The work is the same whether the id is known or not.
    const offered = hashSecret(parts?.secret ?? key);
    const isCurrent = isEqual(offered, record?.secretHash ?? unmatched);
    const now = this.#clock.now();
    const isPrevious =
      isEqual(offered, record?.previous?.secretHash ?? unmatched) && (record?.previous?.until ?? 0) > now;
    if (record === undefined || !(isCurrent || isPrevious)) return 'the key is unknown, outdated or revoked';
    if (record.expiresAt !== null && record.expiresAt <= now) return 'the key has expired';
    return { keyId: record.id, role: record.role };
  }
}

/** A new key and the record that the store keeps of it. */
export function createKey(
  role: Role,
  name: string | null,
  expiresAt: number | null,
  clock: Clock,
  random: Random,
): { key: string; record: KeyRecord } {
  const { key, id, secret } = makeKey(role, random);
  const record = {
    id,
    role,
    name,
    secretHash: hashSecret(secret),
    previous: null,
    createdAt: clock.now(),
    expiresAt,
  };
  return { key, record };
}

/** No secret has this hash. */
const unmatched = '0'.repeat(64);

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
