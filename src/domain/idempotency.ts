/**
 * An idempotency key as stored: the id of the API key, a space, and what the client sent, which has no space in it. So
 * clients with different keys neither collide nor learn about each other.
 */
export function ownIdempotencyKey(keyId: string, sent: string): string {
  return `${keyId} ${sent}`;
}

/**
 * Its owner, and what the client sent. The owner is '' where no API key was stored with it, as in stores written before
 * keys had owners.
 */
export function partsOfIdempotencyKey(key: string): { owner: string; sent: string } {
  const space = key.indexOf(' ');
  return { owner: key.slice(0, Math.max(0, space)), sent: key.slice(space + 1) };
}
