import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../domain/clock.ts';
import { type Role, roles } from '../domain/key.ts';

/**
 * Keys look like `svc_<role>_<id>_<secret><crc>`: the prefix lets secret scanners find them, the id finds the record
 * without comparing secrets, the checksum tells a typing error from a wrong key without a look-up.
 */
const keyPattern = /^svc_([a-z]+)_([0-9a-f]{16})_([0-9a-f]{40})([0-9a-f]{8})$/;
const idBytes = 8;
/** 160 bits. */
const secretBytes = 20;

export interface KeyParts {
  role: Role;
  id: string;
  secret: string;
}

/** A new key and its parts. The key is shown once; only the hash of its secret is kept. */
export function makeKey(role: Role, random: Random): KeyParts & { key: string } {
  const id = Buffer.from(random.bytes(idBytes)).toString('hex');
  return { ...withSecret(role, id, random), role, id };
}

/** A new secret for a key that keeps its id. */
export function withSecret(role: Role, id: string, random: Random): { key: string; secret: string } {
  const secret = Buffer.from(random.bytes(secretBytes)).toString('hex');
  const body = `svc_${role}_${id}_${secret}`;
  return { secret, key: body + checksum(body) };
}

/** @returns null when it is no key of ours: wrong form or wrong checksum. */
export function parseKey(key: string): KeyParts | null {
  const match = keyPattern.exec(key);
  const role = roles.find((name) => name === match?.[1]);
  if (match === null || role === undefined) return null;
  const [, , id = '', secret = '', sum = ''] = match;
  return sum === checksum(`svc_${role}_${id}_${secret}`) ? { role, id, secret } : null;
}

/** SHA-256, hex. A fast hash is right for secrets of 160 random bits. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret);
}

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}

/** Epoch ms as the audit log shows it. */
export function isoOrNull(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
