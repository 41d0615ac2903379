/** Longest name of a provider, model, tier or tag; and most tags and metadata entries of a job. */
export const nameLengthMax = 200;
export const tagsMax = 100;
export const metadataMax = 100;
/** A year; also keeps out the Infinity that 1e999 reads as. */
export const timeoutSecondsMax = 31_536_000;
