import type { AuditDetails, AuditNote } from '../../domain/audit.ts';
import type { Clock } from '../../domain/clock.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { AuditChange, AuditPage, AuditQuery, Store } from '../../store/store.ts';
import type { Deadline, Deadlines } from './deadlines.ts';

/** After an entry for a refusal the same refusal is counted for so long, and twice as long after each that follows. */
const countedMs = 60_000;
const countedMsMax = 3_600_000;
/**
 * Different refusals of one key, and in all, that are counted at a time; what goes beyond shares one entry of the key, or of
 * all keys. Refused in a loop for 400 days, that is at most 50 MB of log for one key and 1 GB for all.
 */
const refusalsOfKeyMax = 16;
const refusalsMax = 256;
/** Characters of a text in an entry; some come from strangers, such as the name of a worker that is refused. */
const textMax = 200;

/** A refusal that was recorded, and how often it has happened again since. */
interface Counted {
  note: AuditNote;
  keyId: string | null;
  count: number;
  forMs: number;
  deadline: Deadline | null;
}

/** A change and its entry in the audit log, as one commit where the change goes through the store. */
export class Audit {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #logger: Logger;
  readonly #refusals = new Map<string, Counted>();

  constructor(options: { store: Store; clock: Clock; deadlines: Deadlines; logger: Logger }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#deadlines = options.deadlines;
    this.#logger = options.logger;
  }

  /** The entry as a change of the store, to commit together with what it is about. */
  change(note: AuditNote): AuditChange {
    return { kind: 'audit', record: { at: this.#clock.now(), ...cut(note) } };
  }

  /** Record something in a commit of its own. @throws StoreUnavailable. */
  async record(note: AuditNote): Promise<void> {
    await this.#store.commit([this.change(note)]);
  }

  /** Record something that is done already. Never rejects: what cannot be recorded is in the process's log. */
  recordDone(note: Omit<AuditNote, 'outcome'>): Promise<void> {
    return this.#keep({ ...note, outcome: 'done' });
  }

  /**
   * Record a refusal. The first is durable when this resolves; the same one again (key, action, target) within a minute is
   * counted, and recorded as one entry at the end of that minute. Never rejects: a refusal stays one when the store takes
   * no writes.
   */
  async refused(note: Omit<AuditNote, 'outcome'>): Promise<void> {
    const refusal = this.#placeOf({ ...cut({ ...note, outcome: 'refused' }) });
    const key = keyOf(refusal);
    const known = this.#refusals.get(key);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const keyId = refusal.by.actor?.keyId ?? null;
    this.#wait(key, { note: refusal, keyId, count: 0, forMs: countedMs, deadline: null });
    await this.#keep(refusal);
  }

  /** Entries of the query, newest first. @throws StoreUnavailable. */
  page(query: AuditQuery): Promise<AuditPage> {
    return this.#store.audit(query);
  }

  /** Record the refusals that were counted so far: before the store closes. */
  async flush(): Promise<void> {
    const all = [...this.#refusals.values()];
    this.#refusals.clear();
    for (const { deadline } of all) this.#deadlines.clear(deadline);
    await Promise.all(all.map((counted) => this.#keepCount(counted)));
  }

  /** The refusal, or what stands for it and others when there are too many different ones. */
  #placeOf(note: AuditNote): AuditNote {
    if (this.#refusals.has(keyOf(note))) return note;
    const keyId = note.by.actor?.keyId ?? null;
    const others: AuditNote = {
      ...note,
      target: { ...note.target, id: null, name: null },
      details: { several: true },
    };
    if (this.#refusals.size >= refusalsMax) return { ...others, by: { actor: null, address: null } };
    let own = 0;
    for (const counted of this.#refusals.values()) if (counted.keyId === keyId) own += 1;
    return own >= refusalsOfKeyMax ? others : note;
  }

  #wait(key: string, counted: Counted): void {
    counted.deadline = this.#deadlines.set(this.#clock.monotonic() + counted.forMs, () => {
      if (counted.count === 0) {
        this.#refusals.delete(key);
        return;
      }
      void this.#keepCount(counted);
      this.#wait(key, { ...counted, count: 0, forMs: Math.min(counted.forMs * 2, countedMsMax) });
    });
    this.#refusals.set(key, counted);
  }

  async #keepCount({ note, count }: Counted): Promise<void> {
    if (count > 0) await this.#keep({ ...note, details: { ...note.details, count } });
  }

  async #keep(note: AuditNote): Promise<void> {
    try {
      await this.record(note);
    } catch (error) {
      this.#logger.warn(
        { error: messageOf(error), action: note.action },
        'it could not be recorded in the audit log',
      );
    }
  }
}

function keyOf({ by, action, target }: AuditNote): string {
  return JSON.stringify([by.actor?.keyId ?? by.address, action, target.kind, target.id, target.name]);
}

function cut(note: AuditNote): AuditNote {
  const { kind, id, name } = note.target;
  const text = (value: string): string => value.slice(0, textMax);
  const details: AuditDetails = Object.fromEntries(
    Object.entries(note.details).map(([key, value]) => [
      key,
      typeof value === 'string' ? text(value) : Array.isArray(value) ? value.slice(0, 100).map(text) : value,
    ]),
  );
  const target = {
    kind,
    id: id === null ? null : text(id),
    name: name === null ? null : text(name),
  };
  return { ...note, target, details };
}
