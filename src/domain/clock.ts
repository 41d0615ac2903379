/** The longest delay of a timer in Node or a browser, some 24 days, ms. A longer one fires at once. */
export const timerMsMax = 2 ** 31 - 1;

/**
 * Time and randomness for the coordinator. `coordinator`, `store` and `gateway` never ask the process for either, so
 * the whole service also runs under a virtual clock and a seeded random source.
 */
export interface Clock {
  /** Wall time, epoch milliseconds: for what is stored and shown. It may jump. */
  now(): number;
  /** Milliseconds since some fixed start; monotonic: for leases and deadlines. */
  monotonic(): number;
  /** Run `task` once, `delayMs` from now. The returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

export interface Random {
  /** A float in [0, 1). */
  next(): number;
  /** `size` bytes fit for secrets and ids. */
  bytes(size: number): Uint8Array;
}
