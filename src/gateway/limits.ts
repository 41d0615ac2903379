/** Ten thousand million: more than any model takes, and sums of it stay exact. */
export const tokensMax = 1e10;
/** Some thirty years; keeps Infinity out. */
export const millisecondsMax = 1e12;
