import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { Principal } from '../domain/key.ts';
import type { BoundFigures } from './boundFigures.ts';
import { type BudgetRefusal, ByteBudget, type Holder } from './byteBudget.ts';
import { heapLimitBytes } from './heapWatch.ts';
import { holderOf } from './places.ts';

/** The part of V8's heap limit that unread answers get at most, whatever the configuration says: 64 MiB of 512. */
const heapPart = 1 / 8;
/** Interval between two checks for slow readers, ms. */
const lookMs = 5_000;
/** A reader that takes less than this between two checks while data waits for it is slow: 16 KiB a second. */
const slowBytes = (16 * 1024 * lookMs) / 1000;
/** How long a client whose answer does not fit should wait, seconds: by then a check has found the slow readers. */
const retryAfterSeconds = 5;

/** Has no share: fits whenever the total is not exceeded. */
const everybody: Holder = { keyId: '', isPrivileged: true };

/** The reader of what is held. */
export interface Reader {
  /** Bytes held for it now. */
  held(): number;
  /** Bytes it has read so far. */
  taken(): number;
  /** End its connection: it is slow, and others need the memory. */
  cut(): void;
}

/** The bytes held for one reader. */
export class Hold {
  readonly holder: Holder;
  readonly #memory: AnswerMemory;
  readonly #reader: Reader;
  #bytes = 0;
  /** At the last check. */
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

  /** Whether it had data to read since the check before last, and read next to nothing. */
  get isSlow(): boolean {
    return this.#isSlow && this.#bytes > 0;
  }

  /** Count what the reader holds now, whether it fits or not. */
  update(): void {
    if (!this.#isOver) this.#count(this.#reader.held());
  }

  /** The reader holds nothing any more. */
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

  /** Called by the memory when others need it. */
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
 * The memory for answers and live events that wait for their readers: a total (`http.answer_memory_bytes`, or an eighth
 * of the heap when that is less) and a share of it for each key. Small answers are not counted. Where something does
 * not fit, the slowest readers lose their connections first.
 */
export class AnswerMemory {
  readonly #clock: Clock;
  readonly #figures: BoundFigures;
  readonly #budget: ByteBudget;
  readonly #holds = new Set<Hold>();
  #cancelLook: (() => void) | null = null;

  /** @param options.bytes, options.share read at each call: the configuration may change. */
  constructor(options: { clock: Clock; bytes: () => number; share: () => number; figures: BoundFigures }) {
    const { clock, bytes, share, figures } = options;
    const most = heapPart * heapLimitBytes();
    this.#clock = clock;
    this.#figures = figures;
    this.#budget = new ByteBudget(() => ({ bytes: Math.min(bytes(), most), share: share() }));
  }

  /** Bytes held for all readers. */
  get held(): number {
    return this.#budget.held;
  }

  close(): void {
    this.#cancelLook?.();
  }

  /** Start counting for a reader, from zero. */
  hold(principal: Principal, reader: Reader): Hold {
    const hold = new Hold(this, holderOf(principal), reader);
    this.#holds.add(hold);
    if (this.#cancelLook === null) this.#lookLater();
    return hold;
  }

  /** Whether a key has used its share, so that no more answers should be built for it. O(1) unless it has. */
  refusalOfShare(principal: Principal): CoordinatorError | null {
    const holder = holderOf(principal);
    if (this.#lacks(holder, 1) !== 'share' || this.#makeRoom(holder, 1) !== 'share') return null;
    return this.#refusal('share', holder);
  }

  /** Whether this many bytes fit, after slow readers are cut. @returns null, or why not. */
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

  /** An answer larger than a share, or than the total, fits when it is alone: otherwise nobody could ever get it. */
  #lacks(holder: Holder, bytes: number): BudgetRefusal | null {
    const lack = this.#budget.refusal(holder, bytes);
    if (lack === null || this.#budget.held === 0) return null;
    if (lack === 'all' || this.#budget.heldBy(holder.keyId) > 0) return lack;
    return this.#budget.refusal({ ...holder, isPrivileged: true }, bytes);
  }

  /** Cut slow readers until the bytes fit, the largest first. @returns what still refuses them. */
  #makeRoom(holder: Holder, bytes: number): BudgetRefusal | null {
    let lack = this.#lacks(holder, bytes);
    if (lack === null) return null;
    const slow = [...this.#holds].filter(({ isSlow }) => isSlow).sort((a, b) => b.bytes - a.bytes);
    for (const hold of slow) {
      if (lack === null) return null;
      // What other keys hold frees nothing in this key's share.
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
      // Bytes that were counted although they did not fit.
      this.#makeRoom(everybody, 0);
    });
  }
}
