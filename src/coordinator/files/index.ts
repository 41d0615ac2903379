/*
 * Files: bytes that clients upload and batches write, each with a record in the store. Promises that a file is there with all of
 * its bytes or not at all, that all files together stay within their bounds, counted from the first byte of an upload, and
 * that a file goes when it expires, but not while something uses it. A crash leaves every file whose record was committed;
 * the start removes the bytes of all others.
 */

export type { FileDraft } from './fileDraft.ts';
export { FileExpiry } from './fileExpiry.ts';
export { FileRoom } from './fileRoom.ts';
export { FileShelf } from './fileShelf.ts';
