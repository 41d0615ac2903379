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
} from '../domain/key.ts';
import { KeyClients } from './keyClients.ts';
import { hashSecret, isoOrNull, makeKey, parseKey, withSecret } from './keyFormat.ts';
import type { KeyStorage } from './keyStorage.ts';
import { environmentKeyName, KeyTable } from './keyTable.ts';
import { Sessions } from './sessions.ts';

/** Wall time may jump: keys that end at a time are looked at again at least this often. */
const sweepMsMax = 60_000;
/** How often the last use of keys is made durable. */
const keepUsedMs = 600_000;

interface Watched {
  principal: Principal;
  onRefused: () => void;
  onBounds: (bounds: KeyBounds | null) => void;
}

/** The keys that are accepted: who makes a request, and every change of a key. */
export class KeyRing {
  readonly sessions: Sessions;
  readonly clients: KeyClients;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #storage: KeyStorage;
  readonly #table: KeyTable;
  /** What lives on a key for longer than a request: sockets. */
  readonly #watched = new Set<Watched>();
  /** What is kept of the key in the data folder's `admin.key`. */
  #folderKey: { id: string; secretHash: string } | null = null;
  #onSweep: () => void = () => {};
  #cancelSweep: () => void = () => {};
  #cancelKeepUsed: (() => void) | null = null;

  /** @param environmentKey an admin key that is always valid; null for none. */
  constructor(options: {
    clock: Clock;
    random: Random;
    environmentKey: string | null;
    keys: readonly KeyRecord[];
    storage: KeyStorage;
  }) {
    const { clock, random, storage } = options;
    this.#clock = clock;
    this.#random = random;
    this.#storage = storage;
    const table = new KeyTable(options);
    this.#table = table;
    this.clients = new KeyClients(clock);
    this.sessions = new Sessions({
      table,
      storage,
      clock,
      random,
      all: () => this.#all(),
      onEnded: () => this.#sweep(),
    });
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
    const environmentHash = this.#table.environmentHashOf(key);
    if (environmentHash !== null) {
      return {
        keyId: environmentKeyId,
        role: 'admin',
        name: environmentKeyName,
        bounds: null,
        secretHash: environmentHash,
      };
    }
    const parts = parseKey(key);
    const record = parts === null ? undefined : this.#table.get(parts.id);
    // The work is the same whether the id is known or not.
    const secretHash = hashSecret(parts?.secret ?? key);
    const isAccepted = this.#table.accepts(record, secretHash);
    if (record === undefined || !isAccepted) return 'the key is unknown, outdated, expired or revoked';
    const { id, role, name, bounds = null, sessionOf } = record;
    this.#table.noteUse(id);
    // A request of a session is one of its key.
    if (sessionOf !== undefined) this.#table.noteUse(sessionOf.keyId);
    this.#cancelKeepUsed ??= this.#clock.after(keepUsedMs, () => this.#keepUsedLater());
    if (sessionOf === undefined) return { keyId: id, role, name, bounds, secretHash };
    const { keyId } = sessionOf;
    return { keyId, role, name: this.#table.nameOf(keyId), bounds, secretHash, sessionId: id };
  }

  /** Whether the key or session with which a principal came is still accepted. */
  isValid(principal: Principal): boolean {
    return this.#table.isValid(principal);
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
    return key?.id === id && this.#table.accepts(this.#table.get(id), key.secretHash);
  }

  /**
   * Every key, oldest first, without secrets and without sessions. `lastUsedAt` is exact; it is now while a connection of
   * the key is open.
   */
  list(): KeyRecord[] {
    return this.#all().filter(({ sessionOf }) => sessionOf === undefined);
  }

  /** Keys and sessions, oldest first. */
  #all(): KeyRecord[] {
    return this.#table.used(
      new Set(
        [...this.#watched].flatMap(({ principal: { keyId, sessionId = keyId } }) => [keyId, sessionId]),
      ),
    );
  }

  /**
   * Make durable when keys were last used. Called every 10 minutes while any is used, and to be called before the store
   * closes: no request waits for it, and a crash forgets 10 minutes at most. @throws StoreUnavailable.
   */
  keepUsed(): Promise<void> {
    return this.#table.inTurn(async () => {
      const records = this.#all().filter(
        ({ id, lastUsedAt }) => lastUsedAt !== this.#table.get(id)?.lastUsedAt,
      );
      if (records.length === 0) return;
      await this.#storage.save(records, null);
      for (const record of records) this.#table.set(record);
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
    this.#table.set(record);
    this.#sweep();
  }

  /**
   * A new secret for a key; the old one is taken for `graceMs` more.
   * @throws CoordinatorError not_found; StoreUnavailable.
   */
  rotate(id: string, graceMs: number, by: Doer | null = null): Promise<NewKey> {
    return this.#table.inTurn(async () => {
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
    return this.#table.inTurn(async () => {
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
    return this.#table.inTurn(async () => {
      const record = this.#key(id);
      const sessions = this.sessions.list(id).map((session) => session.record.id);
      await this.#storage.remove([id, ...sessions], noteOf(by, 'key.revoked', record, { role: record.role }));
      this.#table.delete([id, ...sessions]);
      this.#sweep();
      return record;
    });
  }

  #key(id: string): KeyRecord {
    const key = this.#table.get(id);
    if (key === undefined || key.sessionOf !== undefined)
      throw new CoordinatorError('not_found', `There is no key ${id}`);
    return key;
  }

  /** Notify those whose key is no longer accepted, and come again when the next key ends. */
  #sweep(): void {
    for (const watched of this.#watched) {
      if (this.isValid(watched.principal)) continue;
      this.#watched.delete(watched);
      watched.onRefused();
    }
    this.#onSweep();
    this.sessions.removeEnded();
    const end = this.#table.nextEnd();
    this.#cancelSweep();
    if (end === null) return;
    this.#cancelSweep = this.#clock.after(Math.min(end - this.#clock.now(), sweepMsMax), () => this.#sweep());
  }
}

function noteOf(
  by: Doer | null,
  action: AuditNote['action'],
  { id, name }: KeyRecord,
  details: AuditNote['details'],
): AuditNote | null {
  return by === null ? null : { by, action, target: { kind: 'key', id, name }, details, outcome: 'done' };
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
