import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { Principal } from '../domain/key.ts';
import type { BoundFigures } from './boundFigures.ts';
import { type BudgetRefusal, ByteBudget, type Holder } from './byteBudget.ts';
import { heapLimitBytes } from './heapWatch.ts';
import { holderOf } from './places.ts';

/** Part of what V8 may use that unread answers get at most, whatever the configuration says: 64 MiB of 512. */
const heapPart = 1 / 8;
/** Between two looks at who reads, ms. */
const lookMs = 5_000;
/** Whoever takes less between two looks, while something lies there for it, is slow: 16 KiB a second. */
const slowBytes = (16 * 1024 * lookMs) / 1000;
/** How long a client whose answer does not fit should wait, seconds: by then a look has found those that do not read. */
const retryAfterSeconds = 5;

/** Held to no share: it fits whenever the total is not exceeded. */
const everybody: Holder = { keyId: '', isPrivileged: true };

/** Who reads what is held. */
export interface Reader {
  /** Bytes that are held for it now. */
  held(): number;
  /** Bytes it has taken so far. */
  taken(): number;
  /** End its connection: it is slow, and others need the room. */
  cut(): void;
}

/** What is held for one reader. */
export class Hold {
  readonly holder: Holder;
  readonly #memory: AnswerMemory;
  readonly #reader: Reader;
  #bytes = 0;
  /** At the last look. */
  #takenThen = 0;
  #heldThen = false;
  #isSlow = false;
  #isOver = false;

  constructor(memory: AnswerMemory, holder: Holder, reader: Reader) {
    this.#memory = memory;
    this.holder = holder;
    this.#reader = reader;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it has had something to take since the look before last, and took next to nothing. */
  get isSlow(): boolean {
    return this.#isSlow && this.#bytes > 0;
  }

  /** Count what the reader holds now, whether it fits or not. */
  update(): void {
    if (!this.#isOver) this.#count(this.#reader.held());
  }

  /** Nothing is held any more. */
  release(): void {
    this.#isOver = true;
    this.#count(0);
    this.#memory.forget(this);
  }

  /** Called by the memory every five seconds. */
  look(): void {
    this.update();
    const taken = this.#reader.taken();
    this.#isSlow = this.#heldThen && this.#bytes > 0 && taken - this.#takenThen < slowBytes;
    this.#takenThen = taken;
    this.#heldThen = this.#bytes > 0;
  }

  /** Called by the memory when others need the room. */
  cut(): void {
    this.release();
    this.#reader.cut();
  }

  #count(bytes: number): void {
    if (bytes === this.#bytes) return;
    this.#memory.count(this.holder, bytes - this.#bytes);
    this.#bytes = bytes;
  }
}

/**
 * The memory for answers and live events that wait for their readers: so much in all (`http.answer_memory_bytes`, or an
 * eighth of the heap when that is less), and a share of it for each key. What is small is not counted. Where something
 * does not fit, those who read next to nothing lose theirs first.
 */
export class AnswerMemory {
  readonly #clock: Clock;
  readonly #figures: BoundFigures;
  readonly #budget: ByteBudget;
  readonly #holds = new Set<Hold>();
  #cancelLook: (() => void) | null = null;

  /** @param options.bytes, options.share asked each time: the configuration may change. */
  constructor(options: { clock: Clock; bytes: () => number; share: () => number; figures: BoundFigures }) {
    const { clock, bytes, share, figures } = options;
    const most = heapPart * heapLimitBytes();
    this.#clock = clock;
    this.#figures = figures;
    this.#budget = new ByteBudget(() => ({ bytes: Math.min(bytes(), most), share: share() }));
  }

  /** Bytes that are held. */
  get held(): number {
    return this.#budget.held;
  }

  close(): void {
    this.#cancelLook?.();
  }

  /** Begin to hold something for a reader: nothing yet. */
  hold(principal: Principal, reader: Reader): Hold {
    const hold = new Hold(this, holderOf(principal), reader);
    this.#holds.add(hold);
    if (this.#cancelLook === null) this.#lookLater();
    return hold;
  }

  /** Whether a key has its share, so that nothing more should be made for it. O(1) unless it has. */
  refusalOfShare(principal: Principal): CoordinatorError | null {
    const holder = holderOf(principal);
    if (this.#lacks(holder, 1) !== 'share' || this.#makeRoom(holder, 1) !== 'share') return null;
    return this.#refusal('share', holder);
  }

  /** Whether so many bytes fit, once those who do not read have been cut. @returns null, or why not. */
  refusal(principal: Principal, bytes: number): CoordinatorError | null {
    const holder = holderOf(principal);
    const lack = this.#makeRoom(holder, bytes);
    return lack === null ? null : this.#refusal(lack, holder);
  }

  /** Called by a hold. */
  count(holder: Holder, bytes: number): void {
    if (bytes > 0) this.#budget.add(holder, bytes);
    else this.#budget.giveBack(holder, -bytes);
  }

  /** Called by a hold that has ended. */
  forget(hold: Hold): void {
    this.#holds.delete(hold);
    if (this.#holds.size > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  /** One that is larger than a share, or than all there is, fits alone: it could be had at no time otherwise. */
  #lacks(holder: Holder, bytes: number): BudgetRefusal | null {
    const lack = this.#budget.refusal(holder, bytes);
    if (lack === null || this.#budget.held === 0) return null;
    if (lack === 'all' || this.#budget.heldBy(holder.keyId) > 0) return lack;
    return this.#budget.refusal({ ...holder, isPrivileged: true }, bytes);
  }

  /** Cut slow readers until so much fits, those with the most first. @returns what is lacking still. */
  #makeRoom(holder: Holder, bytes: number): BudgetRefusal | null {
    let lack = this.#lacks(holder, bytes);
    if (lack === null) return null;
    const slow = [...this.#holds].filter(({ isSlow }) => isSlow).sort((a, b) => b.bytes - a.bytes);
    for (const hold of slow) {
      if (lack === null) return null;
      // What others have makes no room in a share.
      if (lack === 'share' && hold.holder.keyId !== holder.keyId) continue;
      this.#figures.connectionEnded('slow');
      hold.cut();
      lack = this.#lacks(holder, bytes);
    }
    return lack;
  }

  #refusal(lack: BudgetRefusal, holder: Holder): CoordinatorError {
    if (lack === 'share') {
      const held = this.#budget.heldBy(holder.keyId);
      return new CoordinatorError(
        'share_exceeded',
        `${held} bytes of answers to this key are unread, and it may have ${this.#budget.most(holder)} (http.shares.bytes_out of http.answer_memory_bytes): read them, or close their connections, and ask again`,
        { retryAfterSeconds },
      );
    }
    return new CoordinatorError(
      'rate_limited',
      `Unread answers take all of http.answer_memory_bytes: ask again in ${retryAfterSeconds} s`,
      { retryAfterSeconds },
    );
  }

  #lookLater(): void {
    this.#cancelLook = this.#clock.after(lookMs, () => {
      this.#lookLater();
      for (const hold of this.#holds) hold.look();
      // What was counted though it did not fit.
      this.#makeRoom(everybody, 0);
    });
  }
}
