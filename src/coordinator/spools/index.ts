/*
 * Spools: the lines that are recorded of streams, so that they can be read again from their beginning. Promises that a reader
 * gets the same lines in the same order as every other, that what a reader was given is there after the process has died, and
 * that all spools together stay within their bounds. A crash leaves the lines up to it; no later process continues them.
 */

export { Spool } from './spool.ts';
export { keptMs, Spools } from './spools.ts';
