import { hash } from 'node:crypto';
import type { Clock, Random } from '../../domain/clock.ts';

const digits = Buffer.from('0123456789abcdef');
/** Where the two digits of each of the 16 bytes stand in the text. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/** The 16 bytes and their text, reused for every id: otherwise they would be a tenth of the garbage of a batch. */
const bytes = Buffer.alloc(16);
const text = Buffer.alloc(36, '-');

/** How many shards ids tell apart. */
export const shardCount = 1_024;

/**
 * A UUIDv7 (RFC 9562): 48 bits of epoch milliseconds, then 10 bits of shard where the RFC has its first random bits
 * (`rand_a`), then 64 random bits. Ids sort by the millisecond of their creation; within one by shard and then by chance, as
 * they did when all those bits were random.
 * @param shard 0 to 1,023; a random one unless given.
 */
export function uuidv7(clock: Clock, random: Random, shard?: number): string {
  return idOf(clock.now(), random.bytes(10), shard);
}

/**
 * The shard of an id, 0 to 1,023: which part of all jobs it belongs to, whenever they are parted. Ids that were made before
 * they had one are as random there as anywhere and fall into any shard; one that is no UUID is in shard 0.
 */
export function shardOf(id: string): number {
  return Number.parseInt(id.slice(15, 18), 16) >> 2;
}

/**
 * The shard of the jobs of an idempotency key, 0 to 1,023, so that two requests with one key meet in one place. The same for
 * ever: keys are remembered over restarts and versions.
 * @param key as `ownIdempotencyKey` makes it.
 */
export function shardOfKey(key: string): number {
  return hash('sha256', key, 'buffer').readUInt16BE(0) % shardCount;
}

/**
 * The id of the job at a place of a batch, from 0, which is that of its first one: made of it, so that a record with one
 * id stands for all of them. It is a UUIDv7 of the same millisecond and the same shard: a batch is one commit.
 */
export function batchId(first: string, place: number): string {
  return place === 0 ? first : idOfBatch(first, place, shardOf(first));
}

/** `batchId` as it was before ids had a shard: a key of that time is remembered for a day. */
export function formerBatchId(first: string, place: number): string {
  return place === 0 ? first : idOfBatch(first, place);
}

/** The millisecond of an id since the epoch. */
export function millisecondOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

function idOfBatch(first: string, place: number, shard?: number): string {
  return idOf(millisecondOf(first), hash('sha256', `${first}/${place}`, 'buffer').subarray(0, 10), shard);
}

/**
 * A UUIDv7.
 * @param millisecond since the epoch. @param rest 10 bytes, 6 bits of which are left out, and 10 more when there is a shard.
 * @param shard takes the place of the first 10 bits of what is not left out.
 */
export function idOf(millisecond: number, rest: Uint8Array, shard?: number): string {
  bytes.writeUIntBE(millisecond, 0, 6);
  bytes.set(rest, 6);
  if (shard !== undefined) {
    bytes[6] = shard >> 6;
    bytes[7] = ((shard & 0x3f) << 2) | ((bytes[7] ?? 0) & 0x03);
  }
  // Version 7 and variant 10 take the top bits of two of the bytes.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  for (let index = 0; index < 16; index += 1) {
    const byte = bytes[index] ?? 0;
    const at = places[index] ?? 0;
    text[at] = digits[byte >> 4] ?? 0;
    text[at + 1] = digits[byte & 0x0f] ?? 0;
  }
  return text.toString('latin1');
}
