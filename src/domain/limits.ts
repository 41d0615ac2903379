/** Longest name of a worker, provider, model, key, tag or tier. */
export const nameLengthMax = 200;
/** Longest text that jobs are searched for; the work is that many times the length of the prompts, at worst. */
export const searchLengthMax = 200;
/** Most tags, and most entries of metadata, that a list of jobs is narrowed by. */
export const filterTagsMax = 20;
/** Most jobs that a worker may offer to run at a time. */
export const concurrencyMax = 100_000;
/** Most jobs that it is given at a time, whatever it offers and its key allows. */
export const slotsMax = 10_000;
/** The same where neither its key nor an operator says how many: a real one has its own reasons to stay below. */
export const slotsUnbound = 1_000;
/** Ten thousand million: more than any model takes, and sums of it stay exact. */
export const tokensMax = 1e10;
/** Some thirty years; keeps Infinity out. */
export const millisecondsMax = 1e12;
/** Dollars that one attempt can cost; in nano-dollars it still is an exact number. */
export const costUsdMax = 1e6;
