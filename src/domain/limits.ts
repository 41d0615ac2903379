/** Longest name of a worker, provider, model, key, tag or tier. */
export const nameLengthMax = 200;
/** Longest search text; at worst the work is that many times the length of the prompts. */
export const searchLengthMax = 200;
/** Most tags, and most entries of metadata, in a filter of jobs. */
export const filterTagsMax = 20;
/** Highest concurrency that a worker may declare. */
export const concurrencyMax = 100_000;
/** Most slots a worker gets, whatever it declares and its key allows. */
export const slotsMax = 10_000;
/** The same where neither its key nor an operator sets it: a real worker has its own reasons to stay below. */
export const slotsUnbound = 1_000;
/** Ten thousand million: more than any model uses, and sums of it stay exact. */
export const tokensMax = 1e10;
/** Some thirty years; excludes Infinity. */
export const millisecondsMax = 1e12;
/** Most dollars one attempt can cost; in nano-dollars it still is an exact number. */
export const costUsdMax = 1e6;
