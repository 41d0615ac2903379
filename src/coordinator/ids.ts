import { hash } from 'node:crypto';
import type { Clock, Random } from '../domain/clock.ts';

const digits = Buffer.from('0123456789abcdef');
/** Where the two digits of each of the 16 bytes stand in the text. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/** The 16 bytes and their text, used for every id: made anew they would be a tenth of the garbage of a batch. */
const bytes = Buffer.alloc(16);
const text = Buffer.alloc(36, '-');

/** A UUIDv7 (RFC 9562): 48 bits of epoch milliseconds, then random bits; ids sort by time of creation. */
export function uuidv7(clock: Clock, random: Random): string {
  return idOf(clock.now(), random.bytes(10));
}

/**
 * The id of the job at a place of a batch, from 0, which is that of its first one: made of it, so that a record with one
 * id stands for all of them. It is a UUIDv7 of the same millisecond.
 */
export function batchId(first: string, place: number): string {
  if (place === 0) return first;
  const millisecond = Number.parseInt(first.slice(0, 8) + first.slice(9, 13), 16);
  return idOf(millisecond, hash('sha256', `${first}/${place}`, 'buffer').subarray(0, 10));
}

/** @param millisecond since the epoch. @param rest 10 bytes, 6 bits of which are left out. */
function idOf(millisecond: number, rest: Uint8Array): string {
  bytes.writeUIntBE(millisecond, 0, 6);
  bytes.set(rest, 6);
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
