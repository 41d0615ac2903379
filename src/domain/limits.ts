/** Longest name of a worker, provider, model, key, tag or tier. */
export const nameLengthMax = 200;
/** Most jobs that a worker may run at a time. */
export const concurrencyMax = 100_000;
/** Ten thousand million: more than any model takes, and sums of it stay exact. */
export const tokensMax = 1e10;
/** Some thirty years; keeps Infinity out. */
export const millisecondsMax = 1e12;
/** Dollars that one attempt can cost; in nano-dollars it still is an exact number. */
export const costUsdMax = 1e6;
