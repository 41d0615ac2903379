/**
 * An idempotency key as it is kept: the id of the API key that it came with, a space, and what the client sent, which has
 * no space in it. So clients with keys of their own neither collide nor learn of each other.
 */
export function ownIdempotencyKey(keyId: string, sent: string): string {
  return `${keyId} ${sent}`;
}

/** Whose it is, and what the client sent. The owner is '' where no API key was kept with it, as in stores that were written before keys had owners. */
export function partsOfIdempotencyKey(key: string): { owner: string; sent: string } {
  const space = key.indexOf(' ');
  return { owner: key.slice(0, Math.max(0, space)), sent: key.slice(space + 1) };
}
