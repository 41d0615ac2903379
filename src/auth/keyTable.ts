import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../domain/clock.ts';
import { environmentKeyId, type KeyRecord, type Principal, type SessionOf } from '../domain/key.ts';
import { hashSecret } from './keyFormat.ts';

export const environmentKeyName = 'SVC_API_KEY';
/** No secret has this hash. */
const unmatched = '0'.repeat(64);

/** The records of keys and sessions in memory, and the only place that compares secrets. */
export class KeyTable {
  readonly #clock: Clock;
  readonly #records: Map<string, KeyRecord>;
  readonly #environmentHash: string | null;
  /** Id → epoch ms of its last request, as far as it is not in its record. */
  readonly #used = new Map<string, number>();
  /** The end of the last change: a rotation that overtook a revocation would bring the key back. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(options: { clock: Clock; environmentKey: string | null; keys: readonly KeyRecord[] }) {
    this.#clock = options.clock;
    this.#environmentHash = options.environmentKey === null ? null : hashSecret(options.environmentKey);
    this.#records = new Map(options.keys.map((key) => [key.id, key]));
  }

  get(id: string): KeyRecord | undefined {
    return this.#records.get(id);
  }

  set(record: KeyRecord): void {
    this.#records.set(record.id, record);
  }

  /** They are no longer stored. */
  delete(ids: readonly string[]): void {
    for (const id of ids) {
      this.#records.delete(id);
      this.#used.delete(id);
    }
  }

  records(): KeyRecord[] {
    return [...this.#records.values()];
  }

  /** Make a change when those before it are durable or have failed. */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    const made = this.#changes.then(change);
    this.#changes = made.catch(() => {});
    return made;
  }

  noteUse(id: string): void {
    this.#used.set(id, this.#clock.now());
  }

  /**
   * Keys and sessions, oldest first, with their exact `lastUsedAt`.
   * @param connected ids of those that are in use now.
   */
  used(connected: ReadonlySet<string>): KeyRecord[] {
    const now = this.#clock.now();
    return this.records()
      .map((key) => ({
        ...key,
        lastUsedAt: connected.has(key.id) ? now : (this.#used.get(key.id) ?? key.lastUsedAt),
      }))
      .sort((a, b) => a.createdAt - b.createdAt || a.id.localeCompare(b.id));
  }

  /** Of a key; null when it has none. */
  nameOf(keyId: string): string | null {
    return keyId === environmentKeyId ? environmentKeyName : (this.get(keyId)?.name ?? null);
  }

  /** The hash of the key in the environment when this is it, or null. */
  environmentHashOf(key: string): string | null {
    const hash = this.#environmentHash;
    return hash !== null && isEqual(hashSecret(key), hash) ? hash : null;
  }

  /** Whether the key or session with which a principal came is still accepted. */
  isValid({ keyId, secretHash, sessionId }: Principal): boolean {
    if (sessionId !== undefined) return this.accepts(this.get(sessionId), secretHash);
    return keyId === environmentKeyId || this.accepts(this.get(keyId), secretHash);
  }

  /** Whether a secret opens a record now. The work is the same for a record that there is not. */
  accepts(record: KeyRecord | undefined, secretHash: string): boolean {
    const now = this.#clock.now();
    const isCurrent = isEqual(secretHash, record?.secretHash ?? unmatched);
    const isPrevious = isEqual(secretHash, record?.previous?.secretHash ?? unmatched);
    const isInGrace = (record?.previous?.until ?? 0) > now;
    return this.isOpen(record) && (isCurrent || (isPrevious && isInGrace));
  }

  /** Whether it has not expired, nor, when it is a session, its key or the secret that it was made with ended. */
  isOpen(record: KeyRecord | undefined): boolean {
    if (record?.expiresAt != null && record.expiresAt <= this.#clock.now()) return false;
    const { sessionOf } = record ?? {};
    if (sessionOf === undefined) return true;
    const { keyId, secretHash } = sessionOf;
    return keyId === environmentKeyId
      ? isEqual(secretHash, this.#environmentHash ?? unmatched)
      : this.accepts(this.get(keyId), secretHash);
  }

  /** When the key of a session ends, or the secret that it was made with; epoch ms, `Infinity` when that is not known yet. */
  endOf({ keyId, secretHash }: SessionOf): number {
    const key = this.get(keyId);
    const isPrevious = key !== undefined && secretHash !== key.secretHash;
    return Math.min(key?.expiresAt ?? Infinity, isPrevious ? (key.previous?.until ?? 0) : Infinity);
  }

  /** Of the moments at which a key or a secret ends, the next one; epoch ms, null for none. */
  nextEnd(): number | null {
    const now = this.#clock.now();
    const ends = this.records()
      .flatMap(({ expiresAt, previous }) => [expiresAt, previous?.until ?? null])
      .filter((at): at is number => at !== null && at > now);
    return ends.length === 0 ? null : Math.min(...ends);
  }
}

/** Two hashes in hex, in constant time: each is 64 characters, whatever it is the hash of. */
function isEqual(a: string, b: string): boolean {
  left.write(a, 'latin1');
  right.write(b, 'latin1');
  return timingSafeEqual(left, right);
}

/** Used again for every comparison: two buffers less a request. */
const left = Buffer.alloc(64);
const right = Buffer.alloc(64);
