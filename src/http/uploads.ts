import type { Config } from '../config/config.ts';
import type { Clock } from '../domain/clock.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { BoundFigures } from '../lib/boundFigures.ts';
import { type BudgetRefusal, ByteBudget, type Holder } from '../lib/byteBudget.ts';
import { Turns } from '../lib/turns.ts';

/** Part of the heap that all bodies may come to, whatever `http.body_memory_bytes` says. */
const heapPart = 1 / 4;
/**
 * While a body is parsed and committed, the heap holds its text, what was parsed of it and its record for the journal:
 * three to four times its bytes when its characters take one byte each, seldom more.
 */
const parsingFactor = 4;
/** A smaller body is parsed at once: it is gone before the next one is. */
const largeBytes = 1024 ** 2;
/** Between two looks at how fast bodies arrive. */
const lookMs = 1_000;
/** The least rate is asked for over spans of this length, so that a pause of a few seconds is no harm. */
const spanMs = 10_000;
/** At its pace of the moment, a stalled upload would have needed this long for what it has sent so far. */
const stalledSeconds = 60;
/** When a client that found no room should try again. */
const retryAfterSeconds = 1;

/** A body from its first byte until it is no longer needed. */
export class Upload {
  /** Bytes that have come over the wire: counted by the reader. */
  moved = 0;
  readonly #uploads: Uploads;
  /** For `Uploads` alone, all of it. */
  readonly holder: Holder;
  readonly cut: (error: CoordinatorError) => void;
  readonly isHeldUp: () => boolean;
  held = 0;
  isParsing = false;
  /** At the last look. */
  lastMoved = 0;
  lastAt: number;
  /** When the span began in which the least rate is asked for. */
  spanMoved = 0;
  spanAt: number;
  /** Bytes a second of the last seconds; null before the first look. */
  pace: number | null = null;

  constructor(
    uploads: Uploads,
    { holder, cut, isHeldUp }: Pick<Upload, 'holder' | 'cut' | 'isHeldUp'>,
    now: number,
  ) {
    this.#uploads = uploads;
    this.holder = holder;
    this.cut = cut;
    this.isHeldUp = isHeldUp;
    this.lastAt = now;
    this.spanAt = now;
  }

  /** @param bytes that are to come. @throws CoordinatorError payload_too_large when they fit at no time. */
  announce(bytes: number): void {
    this.#uploads.announce(this, bytes);
  }

  /** Take memory for what has arrived. @throws CoordinatorError payload_too_large, share_exceeded, rate_limited. */
  take(bytes: number): void {
    this.#uploads.take(this, bytes);
  }

  /** All of it has arrived. @returns null when it may be parsed at once, else a promise that resolves when it may. */
  whole(): Promise<void> | null {
    return this.#uploads.whole(this);
  }

  /** Give back what it holds; a second call does nothing. */
  release(): void {
    this.#uploads.release(this);
  }
}

/**
 * The bodies of all requests that are being read or parsed, and the memory there is for them. What has arrived counts,
 * not what was announced, and where there is no more room an upload that stalls loses its place to one that moves.
 */
export class Uploads {
  /** Of the work with all bodies. */
  readonly turns = new Turns();
  readonly #http: () => Config['http'];
  readonly #clock: Clock;
  readonly #figures: BoundFigures;
  readonly #heapBytes: number;
  readonly #budget: ByteBudget;
  readonly #arriving = new Set<Upload>();
  /** Bytes of the large bodies that are being parsed. */
  #parsing = 0;
  readonly #line: { entry: Upload; resolve: () => void }[] = [];
  #cancelLook: (() => void) | null = null;

  /** @param options.heapBytes what the heap of this process may grow to. */
  constructor(options: {
    http: () => Config['http'];
    clock: Clock;
    figures: BoundFigures;
    heapBytes: number;
  }) {
    const { http, clock, figures, heapBytes } = options;
    this.#http = http;
    this.#clock = clock;
    this.#figures = figures;
    this.#heapBytes = heapBytes;
    this.#budget = new ByteBudget(() => {
      const { bodyMemoryBytes, shares } = http();
      return { bytes: Math.min(bodyMemoryBytes, heapBytes * heapPart), share: shares.bytesIn };
    });
  }

  /** Bytes that all bodies hold. */
  get held(): number {
    return this.#budget.held;
  }

  /**
   * @param cut called when the upload has lost its place: it is released, and nothing of it may be kept.
   * @param isHeldUp whether it is not read at the moment, so that its pace is not the client's.
   */
  begin(holder: Holder, cut: (error: CoordinatorError) => void, isHeldUp = () => false): Upload {
    const upload = new Upload(this, { holder, cut, isHeldUp }, this.#clock.monotonic());
    this.#arriving.add(upload);
    this.#cancelLook ??= this.#clock.after(lookMs, () => this.#look());
    return upload;
  }

  announce({ holder }: Upload, bytes: number): void {
    if (bytes > this.#budget.most(holder)) throw this.#neverFits(holder);
  }

  /** Count a body that has arrived whole elsewhere, until `letGo`. @returns false when there is no room; nothing is counted. */
  hold(holder: Holder, bytes: number): boolean {
    return this.#budget.take(holder, bytes) === null;
  }

  /** Give back what `hold` has counted. */
  letGo(holder: Holder, bytes: number): void {
    this.#budget.giveBack(holder, bytes);
  }

  close(): void {
    this.#cancelLook?.();
  }

  take(entry: Upload, bytes: number): void {
    const { holder } = entry;
    for (;;) {
      const refusal = this.#budget.take(holder, bytes);
      if (refusal === null) break;
      if (entry.held + bytes > this.#budget.most(holder)) throw this.#neverFits(holder);
      const stalled = this.#stalled(entry, refusal);
      if (stalled === null) throw this.#refused(holder, refusal);
      this.#figures.bodyRefused('stalled');
      this.#cut(stalled, 'it stalled while others needed its place');
    }
    entry.held += bytes;
  }

  /** The upload that holds most of those that hardly move: of the same key where its share is the bound. */
  #stalled(asking: Upload, refusal: BudgetRefusal): Upload | null {
    let found: Upload | null = null;
    for (const entry of this.#arriving) {
      if (entry === asking || entry.pace === null || entry.held <= (found?.held ?? 0)) continue;
      if (refusal === 'share' && entry.holder.keyId !== asking.holder.keyId) continue;
      if (entry.moved > entry.pace * stalledSeconds) found = entry;
    }
    return found;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const least = this.#http().uploadMinBytesPerSecond;
    for (const entry of this.#arriving) {
      if (entry.isHeldUp()) beginSpan(entry, now);
      const seconds = (now - entry.lastAt) / 1000;
      // One that has just begun has no pace yet.
      if (seconds < 0.5) continue;
      const pace = (entry.moved - entry.lastMoved) / seconds;
      entry.pace = entry.pace === null ? pace : (entry.pace + pace) / 2;
      entry.lastMoved = entry.moved;
      entry.lastAt = now;
      if (now - entry.spanAt < spanMs) continue;
      const isSlow = entry.moved - entry.spanMoved < (least * (now - entry.spanAt)) / 1000;
      entry.spanMoved = entry.moved;
      entry.spanAt = now;
      if (!isSlow) continue;
      this.#figures.bodyRefused('slow');
      this.#cut(entry, `it came with less than ${least} bytes a second (http.upload_min_bytes_per_second)`);
    }
    this.#cancelLook = this.#arriving.size === 0 ? null : this.#clock.after(lookMs, () => this.#look());
  }

  #cut(entry: Upload, why: string): void {
    this.release(entry);
    entry.cut(
      new CoordinatorError('request_timeout', `The body was not read to its end: ${why}; send it again`, {
        retryAfterSeconds,
      }),
    );
  }

  whole(entry: Upload): Promise<void> | null {
    this.#arriving.delete(entry);
    if (entry.held <= largeBytes) return null;
    if (this.#line.length === 0 && this.#fits(entry)) {
      this.#parse(entry);
      return null;
    }
    return new Promise((resolve) => this.#line.push({ entry, resolve }));
  }

  /** One is always parsed, however large it is. */
  #fits({ held }: Upload): boolean {
    return this.#parsing === 0 || (this.#parsing + held) * parsingFactor <= this.#heapBytes * heapPart;
  }

  #parse(entry: Upload): void {
    entry.isParsing = true;
    this.#parsing += entry.held;
  }

  release(entry: Upload): void {
    this.#arriving.delete(entry);
    if (entry.isParsing) this.#parsing -= entry.held;
    entry.isParsing = false;
    this.#budget.giveBack(entry.holder, entry.held);
    entry.held = 0;
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.entry); next = this.#line[0]) {
      this.#line.shift();
      this.#parse(next.entry);
      next.resolve();
    }
  }

  #neverFits(holder: Holder): CoordinatorError {
    this.#figures.bodyRefused('size');
    return new CoordinatorError(
      'payload_too_large',
      `The body is larger than the ${this.#budget.most(holder)} bytes of memory that this key may have for bodies (http.body_memory_bytes, http.shares.bytes_in, and a quarter of the heap at most); send less at once`,
    );
  }

  #refused(holder: Holder, refusal: BudgetRefusal): CoordinatorError {
    this.#figures.bodyRefused(refusal);
    return refusal === 'share'
      ? new CoordinatorError(
          'share_exceeded',
          `The bodies that this key is sending hold ${this.#budget.heldBy(holder.keyId)} of the ${this.#budget.most(holder)} bytes that one key may have (http.shares.bytes_in of http.body_memory_bytes); send this one again when others have been answered`,
          { retryAfterSeconds },
        )
      : new CoordinatorError(
          'rate_limited',
          'The bodies of other requests fill the memory that there is for them (http.body_memory_bytes); send this one again',
          { retryAfterSeconds },
        );
  }
}

/** Measure it from now on. */
function beginSpan(entry: Upload, now: number): void {
  entry.pace = null;
  entry.lastMoved = entry.moved;
  entry.lastAt = now;
  entry.spanMoved = entry.moved;
  entry.spanAt = now;
}
