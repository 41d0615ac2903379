/** Longest name of a worker, provider, model, key, tag or tier. */
export const nameLengthMax = 200;
/** Most jobs that a worker may run at a time. */
export const concurrencyMax = 100_000;
