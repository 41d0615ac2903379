/*
 * What one node does for all: ended jobs leave for the archive, and workers that nobody has heard of for long are forgotten.
 * A crash leaves what is due for the next start.
 */

export { Retention } from './retention.ts';
export { WorkerRetention } from './workerRetention.ts';
