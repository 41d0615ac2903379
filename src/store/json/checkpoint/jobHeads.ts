/* Finds what the indexes need in the line of a ready job without parsing the line. It relies on the order of the members,
   which `nextJob` and the job machine determine: a line with another order is not understood here, and has to be parsed. */

import type { JobCreator, JobHead } from '../../../domain/job.ts';
import { JsonScan } from '../../../lib/jsonScan.ts';
import type { IdempotencyRecord } from '../../store.ts';

/** What many ready jobs have in common: they share it. */
export interface JobKind {
  createdBy: JobCreator | null;
  run?: { runId: string } | undefined;
  request: JobHead['request'];
  life: KindLife;
}

type KindLife = Omit<JobHead['life'], 'enqueuedAt'>;

/** What is found in the line of a ready job. */
export interface LineHead {
  ordinal: number;
  id: string;
  kind: JobKind;
  enqueuedAt: number;
  idempotency: IdempotencyRecord | null;
}

/** How the state and life of many jobs are written: alike except for two times. */
interface LifeForm {
  /** From the state to the first time. */
  before: Buffer;
  between: Buffer;
  /** From the second time to the end of the life. */
  after: Buffer;
  life: KindLife;
  /** By the JSON of what is not in the life. */
  kinds: Map<string, JobKind>;
  last: { createdBy: string; run: string; provider: string; kind: JobKind } | null;
}

/** Forms remembered at once. A queue has a few: one for each priority and target. */
const formsMax = 16;
/** Kinds remembered at once for a form: each run and each key has its own. */
const kindsMax = 1_000;
/** More digits may be no exact number. */
const digitsMax = 15;
/** Bytes from which on a call of `compare` is faster than a loop. */
const longBytes = 64;

const zero = 0x30;
const nine = 0x39;
const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const closingBrace = 0x7d;

const text = {
  ordinal: Buffer.from('{"ordinal":'),
  id: Buffer.from(',"id":"'),
  version: Buffer.from(',"version":'),
  createdAt: Buffer.from(',"createdAt":'),
  createdBy: Buffer.from(',"createdBy":'),
  run: Buffer.from(',"run":{"runId":'),
  request: Buffer.from(',"request":{'),
  provider: Buffer.from('"provider":'),
  life: Buffer.from(',"state":"pending.ready","life":{'),
  strategy: Buffer.from('"strategy":'),
  target: Buffer.from(',"target":'),
  chain: Buffer.from(',"chain":'),
  priority: Buffer.from(',"priority":'),
  enqueuedAt: Buffer.from(',"enqueuedAt":'),
  updatedAt: Buffer.from('"updatedAt":'),
  idempotency: Buffer.from(',"idempotency":'),
  comma: Buffer.from(','),
  end: Buffer.from('}'),
  /** Nothing passes it. */
  none: Buffer.from('\n'),
};

/** A line that is no ready job, or not written as expected. */
const notUnderstood = Symbol('not understood');

/**
 * Finds the heads of ready jobs in the lines of segments. For a line of 1.7 KB that takes some 1.5 µs. JSON.parse takes 4,
 * and the garbage collector 10 more for what stays of it.
 */
export class HeadReader {
  readonly #scan = new JsonScan();
  /** The last used first. */
  readonly #forms: LifeForm[] = [];
  readonly #createdBy = new LastValue();
  readonly #runId = new LastValue();
  readonly #named = new LastValue();
  /** Of the last line, from the provider on. */
  #requestEnd: Buffer = text.none;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /**
   * @param bytes have the JSON of a `SegmentJob` from `from` to before `to`. It may be damaged: what is returned then means
   * nothing.
   * @returns null for a job in another state, a key, and a line that was written otherwise.
   */
  read(bytes: Buffer, from: number, to: number): LineHead | null {
    this.#bytes = bytes;
    this.#at = from;
    this.#scan.reset();
    try {
      const head = this.#head();
      if (this.#at !== to) throw notUnderstood;
      return head;
    } catch (error) {
      if (error !== notUnderstood) throw error;
      this.#forget();
      return null;
    }
  }

  /** What was found in a damaged line may begin what is in others. */
  #forget(): void {
    for (const last of [this.#createdBy, this.#runId, this.#named]) last.forget();
    this.#requestEnd = text.none;
  }

  #head(): LineHead {
    this.#expect(text.ordinal);
    const ordinal = this.#integer();
    this.#expect(text.id);
    const id = this.#plainString();
    this.#expect(text.version);
    this.#integer();
    this.#expect(text.createdAt);
    this.#integer();
    this.#expect(text.createdBy);
    const createdBy = this.#value(this.#createdBy);
    const run = this.#run();
    const provider = this.#provider();
    const { form, enqueuedAt } = this.#knownLife() ?? this.#newLife();
    const idempotency = this.#passes(text.idempotency) ? this.#skipped() : null;
    this.#expect(text.end);
    return {
      ordinal,
      id,
      kind: kindOf(form, createdBy, run, provider),
      enqueuedAt,
      idempotency: idempotency === null ? null : parsed(idempotency),
    };
  }

  /** @returns the JSON of the run's id; '' without a run. */
  #run(): string {
    if (!this.#passes(text.run)) return '';
    const runId = this.#value(this.#runId);
    this.#skipMembers();
    return runId;
  }

  /** @returns the JSON of the request's provider. */
  #provider(): string {
    this.#expect(text.request);
    while (!this.#passes(text.provider)) {
      this.#skip();
      this.#expect(text.comma);
    }
    const provider = this.#value(this.#named);
    // The rest of the request is often the same.
    if (this.#passes(this.#requestEnd)) return provider;
    const from = this.#at;
    this.#skipMembers();
    this.#requestEnd = this.#copy(from);
    return provider;
  }

  /** The life, when it is written as one before. */
  #knownLife(): { form: LifeForm; enqueuedAt: number } | null {
    const start = this.#at;
    for (const [index, form] of this.#forms.entries()) {
      this.#at = start;
      const enqueuedAt = this.#passes(form.before) ? this.#digits() : -1;
      if (enqueuedAt < 0 || !this.#passes(form.between) || this.#digits() < 0 || !this.#passes(form.after))
        continue;
      if (index > 0) {
        this.#forms.splice(index, 1);
        this.#forms.unshift(form);
      }
      return { form, enqueuedAt };
    }
    this.#at = start;
    return null;
  }

  #newLife(): { form: LifeForm; enqueuedAt: number } {
    const start = this.#at;
    this.#expect(text.life);
    const lifeAt = this.#at;
    for (const name of [text.strategy, text.target, text.chain, text.priority]) {
      this.#expect(name);
      this.#skip();
    }
    const life = this.#bytes.toString('latin1', lifeAt, this.#at);
    this.#expect(text.enqueuedAt);
    const before = this.#copy(start);
    const enqueuedAt = this.#integer();
    const betweenAt = this.#at;
    let between: Buffer | null = null;
    let afterAt = 0;
    while (this.#passes(text.comma)) {
      if (between === null && this.#passes(text.updatedAt)) {
        between = this.#copy(betweenAt);
        this.#integer();
        afterAt = this.#at;
      } else this.#skip();
    }
    this.#expect(text.end);
    if (between === null) throw notUnderstood;
    const after = this.#copy(afterAt);
    const form = { before, between, after, life: lifeOf(life), kinds: new Map(), last: null };
    this.#forms.unshift(form);
    if (this.#forms.length > formsMax) this.#forms.pop();
    return { form, enqueuedAt };
  }

  #copy(from: number): Buffer {
    return Buffer.from(this.#bytes.subarray(from, this.#at));
  }

  #passes(expected: Buffer): boolean {
    const { length } = expected;
    const bytes = this.#bytes;
    const at = this.#at;
    if (length >= longBytes) {
      if (at + length > bytes.length || bytes.compare(expected, 0, length, at, at + length) !== 0)
        return false;
    } else {
      for (let i = 0; i < length; i += 1) if (bytes[at + i] !== expected[i]) return false;
    }
    this.#at = at + length;
    return true;
  }

  #expect(expected: Buffer): void {
    if (!this.#passes(expected)) throw notUnderstood;
  }

  /** Skip a value, and what is left of a member before it. */
  #skip(): void {
    this.#at = this.#scan.next(this.#bytes, this.#at);
  }

  /**
   * Skip a value that is the same in many lines: a string, an object or null, whose bytes no longer value begins with.
   * @returns its bytes as Latin-1 characters.
   */
  #value(last: LastValue): string {
    if (this.#passes(last.bytes)) return last.text;
    const from = this.#at;
    this.#skip();
    last.bytes = this.#copy(from);
    last.text = last.bytes.toString('latin1');
    return last.text;
  }

  /** Skip a value. @returns its bytes as Latin-1 characters. */
  #skipped(): string {
    const from = this.#at;
    this.#skip();
    return this.#bytes.toString('latin1', from, this.#at);
  }

  /** Skip the rest of an object. */
  #skipMembers(): void {
    while (this.#passes(text.comma)) this.#skip();
    this.#expect(text.end);
  }

  #integer(): number {
    const value = this.#digits();
    const end = this.#bytes[this.#at];
    if (value < 0 || (end !== comma && end !== closingBrace)) throw notUnderstood;
    return value;
  }

  /** @returns their number; -1 when there are none, or too many. */
  #digits(): number {
    const bytes = this.#bytes;
    const from = this.#at;
    let at = from;
    let value = 0;
    for (let digit = bytes[at] ?? 0; digit >= zero && digit <= nine; digit = bytes[at] ?? 0) {
      value = value * 10 + digit - zero;
      at += 1;
    }
    this.#at = at;
    return at === from || at - from > digitsMax ? -1 : value;
  }

  /** The rest of a string of ASCII characters without escapes. */
  #plainString(): string {
    const bytes = this.#bytes;
    const from = this.#at;
    let at = from;
    for (let byte = bytes[at]; byte !== quote; byte = bytes[at]) {
      if (byte === undefined || byte === backslash || byte > 0x7f) throw notUnderstood;
      at += 1;
    }
    this.#at = at + 1;
    return bytes.toString('latin1', from, at);
  }
}

/** A value of the last line. */
class LastValue {
  bytes: Buffer = text.none;
  text = '';

  forget(): void {
    this.bytes = text.none;
  }
}

/** @param members JSON of the first ones. */
function lifeOf(members: string): KindLife {
  const life: KindLife = parsed(`{${members}}`);
  // Frozen targets remember the key of their lane.
  for (const target of [life.target, ...life.chain]) Object.freeze(target);
  return life;
}

function kindOf(form: LifeForm, createdBy: string, run: string, provider: string): JobKind {
  const { life, kinds } = form;
  const { last } = form;
  if (last?.createdBy === createdBy && last.run === run && last.provider === provider) return last.kind;
  const key = `${createdBy}\n${run}\n${provider}`;
  const kind = kinds.get(key) ?? newKind(life, createdBy, run, provider);
  if (kinds.size >= kindsMax) kinds.clear();
  kinds.set(key, kind);
  form.last = { createdBy, run, provider, kind };
  return kind;
}

function newKind(life: KindLife, createdBy: string, run: string, provider: string): JobKind {
  return {
    createdBy: parsed(createdBy),
    run: run === '' ? undefined : { runId: parsed(run) },
    request: { provider: parsed(provider) },
    life,
  };
}

/** @param json bytes as Latin-1 characters. */
function parsed<T>(json: string): T {
  try {
    return JSON.parse(Buffer.from(json, 'latin1').toString('utf8'));
  } catch {
    // The line is damaged; whoever parses it says where.
    throw notUnderstood;
  }
}
