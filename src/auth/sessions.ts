import type { AuditNote, Doer } from '../domain/audit.ts';
import type { Clock, Random } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import { type KeyRecord, type Principal, type SessionOf, sessionMsMax, sessionsMax } from '../domain/key.ts';
import { hashSecret, isoOrNull, makeKey } from './keyFormat.ts';
import type { KeyStorage } from './keyStorage.ts';
import type { KeyTable } from './keyTable.ts';

/** A session as it is stored, and of what it is one. */
export interface Session {
  /** `lastUsedAt` is exact. */
  record: KeyRecord;
  keyId: string;
  /** Of the key; null when it has none. */
  keyName: string | null;
}

interface SessionParts {
  table: KeyTable;
  storage: KeyStorage;
  clock: Clock;
  random: Random;
  /** Keys and sessions, oldest first, with their exact `lastUsedAt`. */
  all: () => KeyRecord[];
  /** Called when sessions have ended: what is under way with them ends at once. */
  onEnded: () => void;
}

/** The sessions that keys make for browsers. A session is a record like a key's, with the key that it is of. */
export class Sessions {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Those that have not ended, oldest first. @param keyId null: of every key. */
  list(keyId: string | null): Session[] {
    const { table, all } = this.#parts;
    return all().flatMap((record) => {
      const { sessionOf } = record;
      if (sessionOf === undefined || !table.isOpen(record)) return [];
      return keyId === null || sessionOf.keyId === keyId ? [this.#session(record, sessionOf)] : [];
    });
  }

  /**
   * A session of the key that a principal came with; its secret is shown once. It has the role of the key, and ends after
   * 30 days, with the key or with the secret that it was made with, whichever is first. The oldest of 50 ends for it.
   * @throws CoordinatorError forbidden when the principal is a session itself; authentication_failed when the key has ended
   * meanwhile; StoreUnavailable.
   */
  create(principal: Principal, by: Doer): Promise<{ key: string; record: KeyRecord; session: Session }> {
    const { table, storage } = this.#parts;
    return table.inTurn(async () => {
      if (principal.sessionId !== undefined) {
        throw new CoordinatorError(
          'forbidden',
          'A session may not make another session; send the key itself',
        );
      }
      if (!table.isValid(principal)) {
        throw new CoordinatorError('authentication_failed', 'Authentication failed: the key has ended');
      }
      const { key, record, sessionOf } = this.#made(principal);
      const session = this.#session(record, sessionOf);
      const open = this.list(sessionOf.keyId).map((one) => one.record.id);
      const ended = open.slice(0, Math.max(0, open.length + 1 - sessionsMax));
      const details = { expires_at: isoOrNull(record.expiresAt), ...(ended.length > 0 ? { ended } : {}) };
      await storage.save([record], noteOf(by, 'session.created', session, details), ended);
      table.set(record);
      this.#forget(ended);
      return { key, record, session };
    });
  }

  #made({ keyId, role, secretHash }: Principal): { key: string; record: KeyRecord; sessionOf: SessionOf } {
    const { table, clock, random } = this.#parts;
    const { key, id, secret } = makeKey(role, random);
    const createdAt = clock.now();
    const sessionOf = { keyId, secretHash };
    const record: KeyRecord = {
      id,
      role,
      name: null,
      secretHash: hashSecret(secret),
      previous: null,
      createdAt,
      expiresAt: Math.min(createdAt + sessionMsMax, table.endOf(sessionOf)),
      sessionOf,
    };
    return { key, record, sessionOf };
  }

  /**
   * End a session; what is under way with it ends at once.
   * @param keyId whose session it must be; null: of any key.
   * @throws CoordinatorError not_found; StoreUnavailable.
   */
  end(id: string, keyId: string | null, by: Doer): Promise<Session> {
    const { table, storage } = this.#parts;
    return table.inTurn(async () => {
      const session = this.list(keyId).find(({ record }) => record.id === id);
      if (session === undefined) throw new CoordinatorError('not_found', `There is no session ${id}`);
      await storage.remove([id], noteOf(by, 'session.ended', session, {}));
      this.#forget([id]);
      return session;
    });
  }

  /** Remove sessions that have ended with time or with their key. What the store refuses is removed the next time. */
  removeEnded(): void {
    const { table, storage } = this.#parts;
    const ended = (): string[] =>
      table
        .records()
        .filter((record) => record.sessionOf !== undefined && !table.isOpen(record))
        .map(({ id }) => id);
    if (ended().length === 0) return;
    table
      .inTurn(async () => {
        const ids = ended();
        if (ids.length === 0) return;
        await storage.remove(ids, null);
        table.delete(ids);
      })
      .catch(() => {});
  }

  #session(record: KeyRecord, { keyId }: SessionOf): Session {
    return { record, keyId, keyName: this.#parts.table.nameOf(keyId) };
  }

  #forget(ids: readonly string[]): void {
    this.#parts.table.delete(ids);
    this.#parts.onEnded();
  }
}

function noteOf(
  by: Doer,
  action: AuditNote['action'],
  { record, keyId, keyName }: Session,
  more: AuditNote['details'],
): AuditNote {
  const target = { kind: 'session', id: record.id, name: keyName } as const;
  return { by, action, target, details: { key_id: keyId, role: record.role, ...more }, outcome: 'done' };
}
