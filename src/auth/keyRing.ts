import { timingSafeEqual } from 'node:crypto';
import type { AuditNote, Doer } from '../domain/audit.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import {
  environmentKeyId,
  type KeyBounds,
  type KeyRecord,
  notBound,
  type Principal,
  type Role,
  type SessionOf,
  sessionMsMax,
  sessionsMax,
} from '../domain/key.ts';
import { hashSecret, makeKey, parseKey, withSecret } from './keyFormat.ts';

const environmentKeyName = 'SVC_API_KEY';
/** No secret has this hash. */
const unmatched = '0'.repeat(64);
/** Wall time may jump: keys that end at a time are looked at again at least this often. */
const sweepMsMax = 60_000;
/** How often the last use of keys is made durable. */
const keepUsedMs = 600_000;

/**
 * Where keys and sessions are kept. Each resolves when the change is durable, together with its entry in the audit log; a
 * note that is null has none. @throws StoreUnavailable.
 */
export interface KeyStorage {
  /** @param removed ids of others that are removed in the same commit. */
  save(keys: readonly KeyRecord[], note: AuditNote | null, removed?: readonly string[]): Promise<unknown>;
  remove(ids: readonly string[], note: AuditNote | null): Promise<unknown>;
}

/** A session as it is stored, and of what it is one. */
export interface Session {
  /** `lastUsedAt` is exact. */
  record: KeyRecord;
  keyId: string;
  /** Of the key; null when it has none. */
  keyName: string | null;
}

interface Watched {
  principal: Principal;
  onRefused: () => void;
  onBounds: (bounds: KeyBounds | null) => void;
}

/** The keys that are taken, and the only place that compares secrets. */
export class KeyRing {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #storage: KeyStorage;
  readonly #keys: Map<string, KeyRecord>;
  readonly #environmentHash: string | null;
  /** What lives on a key for longer than a request: sockets. */
  readonly #watched = new Set<Watched>();
  /** Key id → epoch ms of its last request, as far as it is not in its record. */
  readonly #used = new Map<string, number>();
  /** What is kept of the key in the data folder's `admin.key`. */
  #folderKey: { id: string; secretHash: string } | null = null;
  #onSweep: () => void = () => {};
  #cancelSweep: () => void = () => {};
  #cancelKeepUsed: (() => void) | null = null;
  /** The end of the last change: a rotation that overtook a revocation would bring the key back. */
  #changes: Promise<unknown> = Promise.resolve();

  /** @param environmentKey an admin key that is always valid; null for none. */
  constructor(options: {
    clock: Clock;
    random: Random;
    environmentKey: string | null;
    keys: readonly KeyRecord[];
    storage: KeyStorage;
  }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#storage = options.storage;
    this.#environmentHash = options.environmentKey === null ? null : hashSecret(options.environmentKey);
    this.#keys = new Map(options.keys.map((key) => [key.id, key]));
    this.#sweep();
  }

  close(): void {
    this.#cancelSweep();
    this.#cancelKeepUsed?.();
  }

  /**
   * Who makes a request.
   * @param authorization the header's value as it came.
   * @returns the principal, or in a few words why not. Never says whether an id exists.
   */
  authenticate(authorization: string | undefined): Principal | string {
    if (authorization === undefined || authorization === '') return 'no Authorization header';
    const key = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (key === undefined) return 'the Authorization header must be: Bearer <key>';
    if (this.#environmentHash !== null && isEqual(hashSecret(key), this.#environmentHash)) {
      return {
        keyId: environmentKeyId,
        role: 'admin',
        name: environmentKeyName,
        bounds: null,
        secretHash: this.#environmentHash,
      };
    }
    const parts = parseKey(key);
    const record = parts === null ? undefined : this.#keys.get(parts.id);
    // The work is the same whether the id is known or not.
    const secretHash = hashSecret(parts?.secret ?? key);
    const isTaken = this.#takes(record, secretHash);
    if (record === undefined || !isTaken) return 'the key is unknown, outdated, expired or revoked';
    const { id, role, name, bounds = null, sessionOf } = record;
    this.#used.set(id, this.#clock.now());
    // A request of a session is one of its key.
    if (sessionOf !== undefined) this.#used.set(sessionOf.keyId, this.#clock.now());
    this.#cancelKeepUsed ??= this.#clock.after(keepUsedMs, () => this.#keepUsedLater());
    if (sessionOf === undefined) return { keyId: id, role, name, bounds, secretHash };
    const { keyId } = sessionOf;
    return { keyId, role, name: this.#nameOf(keyId), bounds, secretHash, sessionId: id };
  }

  /** Whether the key or session with which a principal came is still taken. */
  isValid({ keyId, secretHash, sessionId }: Principal): boolean {
    if (sessionId !== undefined) return this.#takes(this.#keys.get(sessionId), secretHash);
    return keyId === environmentKeyId || this.#takes(this.#keys.get(keyId), secretHash);
  }

  /**
   * Call `onRefused`, once, when the key is revoked, rotated away or has expired, or the session has ended, and `onBounds`
   * whenever the key is bound otherwise. The returned function ends that.
   */
  watch(
    principal: Principal,
    onRefused: () => void,
    onBounds: (bounds: KeyBounds | null) => void = () => {},
  ): () => void {
    const watched = { principal, onRefused, onBounds };
    this.#watched.add(watched);
    return () => this.#watched.delete(watched);
  }

  /** Call `listener` whenever keys may have ended: for what is under way for so short a time that no `watch` pays. */
  onSweep(listener: () => void): void {
    this.#onSweep = listener;
  }

  /** The data folder's `admin.key` holds this key. @param key as it is in the file; null: there is none. */
  noteFolderKey(key: string | null): void {
    const parts = key === null ? null : parseKey(key);
    this.#folderKey = parts === null ? null : { id: parts.id, secretHash: hashSecret(parts.secret) };
  }

  /** Whether the data folder's `admin.key` holds a secret of this key that is still taken. */
  isInFolder(id: string): boolean {
    const key = this.#folderKey;
    return key?.id === id && this.#takes(this.#keys.get(id), key.secretHash);
  }

  /**
   * Every key, oldest first, without secrets and without sessions. `lastUsedAt` is exact; it is now while a connection of
   * the key is open.
   */
  list(): KeyRecord[] {
    return this.#all().filter(({ sessionOf }) => sessionOf === undefined);
  }

  /** The sessions of a key that have not ended, oldest first. @param keyId null: those of every key. */
  sessions(keyId: string | null): Session[] {
    return this.#all().flatMap((record) => {
      const { sessionOf } = record;
      if (sessionOf === undefined || !this.#isOpen(record)) return [];
      return keyId === null || sessionOf.keyId === keyId ? [this.#session(record, sessionOf)] : [];
    });
  }

  /** Keys and sessions, oldest first. */
  #all(): KeyRecord[] {
    const connected = new Set(
      [...this.#watched].flatMap(({ principal: { keyId, sessionId = keyId } }) => [keyId, sessionId]),
    );
    const now = this.#clock.now();
    return [...this.#keys.values()]
      .map((key) => ({
        ...key,
        lastUsedAt: connected.has(key.id) ? now : (this.#used.get(key.id) ?? key.lastUsedAt),
      }))
      .sort((a, b) => a.createdAt - b.createdAt || a.id.localeCompare(b.id));
  }

  /**
   * Make durable when keys were last used. Called every 10 minutes while any is used, and to be called before the store
   * closes: no request waits for it, and a crash forgets 10 minutes at most. @throws StoreUnavailable.
   */
  keepUsed(): Promise<void> {
    return this.#afterOthers(async () => {
      const records = this.#all().filter(
        ({ id, lastUsedAt }) => lastUsedAt !== this.#keys.get(id)?.lastUsedAt,
      );
      if (records.length === 0) return;
      await this.#storage.save(records, null);
      for (const record of records) this.#keys.set(record.id, record);
    });
  }

  #keepUsedLater(): void {
    this.#cancelKeepUsed = null;
    // What the store did not take stays in memory, and is in the next one.
    this.keepUsed().catch(() => {});
  }

  /**
   * A new key; shown once.
   * @param expiresAt epoch ms; null for never. @param bounds of a key with the role `worker`; null: it is not bound.
   * @param by for the audit log; null keeps it out of it.
   * @throws CoordinatorError invalid_request when `expiresAt` is past; StoreUnavailable.
   */
  async create(
    role: Role,
    name: string | null,
    expiresAt: number | null,
    bounds: KeyBounds | null = null,
    by: Doer | null = null,
  ): Promise<NewKey> {
    if (expiresAt !== null && expiresAt <= this.#clock.now()) throw past('expires_at');
    const { key, id, secret } = makeKey(role, this.#random);
    const createdAt = this.#clock.now();
    const plain = { id, role, name, secretHash: hashSecret(secret), previous: null, createdAt, expiresAt };
    const record = bounds === null ? plain : { ...plain, bounds };
    const details = { role, expires_at: isoOrNull(expiresAt) };
    await this.save(record, noteOf(by, 'key.created', record, details));
    return { key, record };
  }

  /** Keep a record; its key is taken from now on. @param note for the audit log. @throws StoreUnavailable. */
  async save(record: KeyRecord, note: AuditNote | null): Promise<void> {
    await this.#storage.save([record], note);
    this.#keys.set(record.id, record);
    this.#sweep();
  }

  /**
   * A new secret for a key; the old one is taken for `graceMs` more.
   * @throws CoordinatorError not_found; StoreUnavailable.
   */
  rotate(id: string, graceMs: number, by: Doer | null = null): Promise<NewKey> {
    return this.#afterOthers(async () => {
      const old = this.#key(id);
      const { key, secret } = withSecret(old.role, id, this.#random);
      const until = this.#clock.now() + graceMs;
      const previous = graceMs > 0 ? { secretHash: old.secretHash, until } : null;
      const record = { ...old, secretHash: hashSecret(secret), previous };
      const details = { role: old.role, previous_valid_until: isoOrNull(previous?.until ?? null) };
      await this.save(record, noteOf(by, 'key.rotated', record, details));
      return { key, record };
    });
  }

  /**
   * Bind a key otherwise; its workers are held to that at once. @param change gets the bounds of now.
   * @throws CoordinatorError not_found, invalid_request unless it has the role `worker`; StoreUnavailable.
   */
  bind(id: string, change: (bounds: KeyBounds) => KeyBounds, by: Doer | null = null): Promise<KeyRecord> {
    return this.#afterOthers(async () => {
      const old = this.#key(id);
      if (old.role !== 'worker') {
        const detail = `Only keys with the role worker are bound to names, tags, providers and slots; this one has the role ${old.role}`;
        const message = 'must be worker for a key that is bound';
        throw new CoordinatorError('invalid_request', detail, { errors: [{ field: 'role', message }] });
      }
      const bounds = change(old.bounds ?? notBound);
      const record = { ...old, bounds };
      await this.save(record, noteOf(by, 'key.changed', record, detailsOf(bounds)));
      for (const { principal, onBounds } of [...this.#watched]) if (principal.keyId === id) onBounds(bounds);
      return record;
    });
  }

  /** Take a key back. @throws CoordinatorError not_found; StoreUnavailable. */
  revoke(id: string, by: Doer | null = null): Promise<KeyRecord> {
    return this.#afterOthers(async () => {
      const record = this.#key(id);
      const sessions = this.sessions(id).map((session) => session.record.id);
      await this.#storage.remove([id, ...sessions], noteOf(by, 'key.revoked', record, { role: record.role }));
      this.#forget([id, ...sessions]);
      return record;
    });
  }

  /**
   * A session of the key that a principal came with; its secret is shown once. It has the role of the key, and ends after
   * 30 days, with the key or with the secret that it was made with, whichever is first. The oldest of 50 ends for it.
   * @throws CoordinatorError forbidden when the principal is a session itself; authentication_failed when the key has ended
   * meanwhile; StoreUnavailable.
   */
  createSession(principal: Principal, by: Doer): Promise<NewKey & { session: Session }> {
    return this.#afterOthers(async () => {
      const { keyId, role, secretHash } = principal;
      if (principal.sessionId !== undefined) {
        throw new CoordinatorError(
          'forbidden',
          'A session may not make another session; send the key itself',
        );
      }
      if (!this.isValid(principal)) {
        throw new CoordinatorError('authentication_failed', 'Authentication failed: the key has ended');
      }
      const { key, id, secret } = makeKey(role, this.#random);
      const createdAt = this.#clock.now();
      const sessionOf = { keyId, secretHash };
      const record: KeyRecord = {
        id,
        role,
        name: null,
        secretHash: hashSecret(secret),
        previous: null,
        createdAt,
        expiresAt: Math.min(createdAt + sessionMsMax, this.#endOf(sessionOf)),
        sessionOf,
      };
      const session = this.#session(record, sessionOf);
      const open = this.sessions(keyId).map((one) => one.record.id);
      const ended = open.slice(0, Math.max(0, open.length + 1 - sessionsMax));
      const details = { expires_at: isoOrNull(record.expiresAt), ...(ended.length > 0 ? { ended } : {}) };
      await this.#storage.save([record], sessionNote(by, 'session.created', session, details), ended);
      this.#keys.set(id, record);
      this.#forget(ended);
      return { key, record, session };
    });
  }

  /**
   * End a session; what is under way with it ends at once.
   * @param keyId whose session it must be; null: of any key.
   * @throws CoordinatorError not_found; StoreUnavailable.
   */
  endSession(id: string, keyId: string | null, by: Doer): Promise<Session> {
    return this.#afterOthers(async () => {
      const session = this.sessions(keyId).find(({ record }) => record.id === id);
      if (session === undefined) throw new CoordinatorError('not_found', `There is no session ${id}`);
      await this.#storage.remove([id], sessionNote(by, 'session.ended', session, {}));
      this.#forget([id]);
      return session;
    });
  }

  #session(record: KeyRecord, { keyId }: SessionOf): Session {
    return { record, keyId, keyName: this.#nameOf(keyId) };
  }

  #nameOf(keyId: string): string | null {
    return keyId === environmentKeyId ? environmentKeyName : (this.#keys.get(keyId)?.name ?? null);
  }

  /** When the key of a session ends, or the secret that it was made with; epoch ms, `Infinity` when that is not known yet. */
  #endOf({ keyId, secretHash }: SessionOf): number {
    const key = this.#keys.get(keyId);
    const isPrevious = key !== undefined && secretHash !== key.secretHash;
    return Math.min(key?.expiresAt ?? Infinity, isPrevious ? (key.previous?.until ?? 0) : Infinity);
  }

  /** They are no longer stored. */
  #forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.#keys.delete(id);
      this.#used.delete(id);
    }
    this.#sweep();
  }

  /** Make a change when those before it are durable or have failed. */
  #afterOthers<T>(change: () => Promise<T>): Promise<T> {
    const made = this.#changes.then(change);
    this.#changes = made.catch(() => {});
    return made;
  }

  #key(id: string): KeyRecord {
    const key = this.#keys.get(id);
    if (key === undefined || key.sessionOf !== undefined)
      throw new CoordinatorError('not_found', `There is no key ${id}`);
    return key;
  }

  #takes(record: KeyRecord | undefined, secretHash: string): boolean {
    const now = this.#clock.now();
    const isCurrent = isEqual(secretHash, record?.secretHash ?? unmatched);
    const isPrevious = isEqual(secretHash, record?.previous?.secretHash ?? unmatched);
    const isInGrace = (record?.previous?.until ?? 0) > now;
    return this.#isOpen(record) && (isCurrent || (isPrevious && isInGrace));
  }

  /** Whether it has not expired, nor, when it is a session, its key or the secret that it was made with ended. */
  #isOpen(record: KeyRecord | undefined): boolean {
    if (record?.expiresAt != null && record.expiresAt <= this.#clock.now()) return false;
    const { sessionOf } = record ?? {};
    if (sessionOf === undefined) return true;
    const { keyId, secretHash } = sessionOf;
    return keyId === environmentKeyId
      ? isEqual(secretHash, this.#environmentHash ?? unmatched)
      : this.#takes(this.#keys.get(keyId), secretHash);
  }

  /** Tell those whose key is no longer taken, and come again when the next key ends. */
  #sweep(): void {
    for (const watched of this.#watched) {
      if (this.isValid(watched.principal)) continue;
      this.#watched.delete(watched);
      watched.onRefused();
    }
    this.#onSweep();
    this.#removeEnded();
    const now = this.#clock.now();
    const ends = [...this.#keys.values()]
      .flatMap(({ expiresAt, previous }) => [expiresAt, previous?.until ?? null])
      .filter((at): at is number => at !== null && at > now);
    this.#cancelSweep();
    if (ends.length === 0) return;
    this.#cancelSweep = this.#clock.after(Math.min(Math.min(...ends) - now, sweepMsMax), () => this.#sweep());
  }

  /** Remove sessions that have ended with time or with their key. What the store refuses is removed with the next sweep. */
  #removeEnded(): void {
    const ended = (): string[] =>
      [...this.#keys.values()]
        .filter((record) => record.sessionOf !== undefined && !this.#isOpen(record))
        .map(({ id }) => id);
    if (ended().length === 0) return;
    this.#afterOthers(async () => {
      const ids = ended();
      if (ids.length === 0) return;
      await this.#storage.remove(ids, null);
      for (const id of ids) {
        this.#keys.delete(id);
        this.#used.delete(id);
      }
    }).catch(() => {});
  }
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function noteOf(
  by: Doer | null,
  action: AuditNote['action'],
  { id, name }: KeyRecord,
  details: AuditNote['details'],
): AuditNote | null {
  return by === null ? null : { by, action, target: { kind: 'key', id, name }, details, outcome: 'done' };
}

function sessionNote(
  by: Doer,
  action: AuditNote['action'],
  { record, keyId, keyName }: Session,
  more: AuditNote['details'],
): AuditNote {
  const target = { kind: 'session', id: record.id, name: keyName } as const;
  return { by, action, target, details: { key_id: keyId, role: record.role, ...more }, outcome: 'done' };
}

/** For the audit log. */
function detailsOf({ namePatterns, tags, providers, maxConcurrency }: KeyBounds): AuditNote['details'] {
  return { name_patterns: namePatterns, tags, providers, max_concurrency: maxConcurrency };
}

function past(field: string): CoordinatorError {
  const message = 'must be in the future';
  return new CoordinatorError('invalid_request', `The request is not valid: ${field} ${message}`, {
    errors: [{ field, message }],
  });
}

export interface NewKey {
  /** The key itself, for its owner; kept nowhere. */
  key: string;
  record: KeyRecord;
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
