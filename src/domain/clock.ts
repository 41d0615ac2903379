/** The longest that a timer of Node or a browser takes, some 24 days, ms. One that is given more runs at once. */
export const timerMsMax = 2 ** 31 - 1;

/**
 * Time and randomness as the coordinator sees them. Nothing in `coordinator`, `store` or `gateway` asks the
 * process for either, so that the whole service also runs under a virtual clock and a seeded random source.
 */
export interface Clock {
  /** Wall time, epoch milliseconds: for what is stored and shown. It may jump. */
  now(): number;
  /** Milliseconds since some fixed start; never jumps, never goes back: for leases and deadlines. */
  monotonic(): number;
  /** Run `task` once, `delayMs` from now. The returned function takes it back. */
  after(delayMs: number, task: () => void): () => void;
}

export interface Random {
  /** A float in [0, 1). */
  next(): number;
  /** `size` bytes fit for secrets and ids. */
  bytes(size: number): Uint8Array;
}
