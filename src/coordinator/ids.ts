import type { Clock, Random } from '../domain/clock.ts';

/** A UUIDv7 (RFC 9562): 48 bits of epoch milliseconds, then random bits; ids sort by time of creation. */
export function uuidv7(clock: Clock, random: Random): string {
  const time = clock.now().toString(16).padStart(12, '0');
  const bytes = random.bytes(10);
  // Version 7 and variant 10 take the top bits of two of the random bytes.
  bytes[0] = ((bytes[0] ?? 0) & 0x0f) | 0x70;
  bytes[2] = ((bytes[2] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
}
