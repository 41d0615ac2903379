/** Most tags and metadata entries of a job. */
export const tagsMax = 100;
export const metadataMax = 100;
/** Members of `params`, those of the objects in it with them: schemas of 200 tools have some 10,000. */
export const paramsMax = 20_000;
/** Jobs of a batch. */
export const batchMax = 10_000;
/** Jobs that one request cancels or retries. */
export const bulkMax = 1_000;
/** Messages of a chat. */
export const messagesMax = 10_000;
/** A year; also keeps out the Infinity that 1e999 reads as. */
export const timeoutSecondsMax = 31_536_000;
