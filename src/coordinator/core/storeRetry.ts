/** What the store refused is tried again after this; a worker keeps its result until it is acknowledged. */
export const storeRetryMs = 500;
