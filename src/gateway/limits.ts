/** Longest name of a worker, provider, model or tag. */
export const nameLengthMax = 200;
/** Leases a hello or heartbeat may list, and slots a worker may have. */
export const concurrencyMax = 100_000;
/** Ten thousand million: more than any model takes, and sums of it stay exact. */
export const tokensMax = 1e10;
/** Some thirty years; keeps Infinity out. */
export const millisecondsMax = 1e12;
