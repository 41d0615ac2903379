/**
 * Who may do what. Each role of the first four has all of the one before. `worker` (the worker socket and its
 * configuration) and `metrics` (GET /metrics and nothing else) stand apart.
 */
export const roles = ['viewer', 'client', 'operator', 'admin', 'worker', 'metrics'] as const;
export type Role = (typeof roles)[number];

/** What a worker that comes with a key may say of itself; null: whatever it likes. Only keys with the role `worker` have them. */
export interface KeyBounds {
  /** Its name must match one of them; `*` stands for any text. */
  namePatterns: string[] | null;
  /** Every tag of the worker must be one of them. */
  tags: string[] | null;
  /** Every provider of the worker must be one of them. */
  providers: string[] | null;
  /** Slots that all connected workers of the key get together. */
  maxConcurrency: number | null;
}

export const notBound: KeyBounds = Object.freeze({
  namePatterns: null,
  tags: null,
  providers: null,
  maxConcurrency: null,
});

/** An API key as it is stored: never the secret itself. */
export interface KeyRecord {
  id: string;
  role: Role;
  name: string | null;
  /** SHA-256 of the secret, hex. */
  secretHash: string;
  /** The secret before the last rotation and until when it is still taken, epoch ms. */
  previous: { secretHash: string; until: number } | null;
  createdAt: number;
  /** Epoch ms, or null. */
  expiresAt: number | null;
  /** Epoch ms of a request with it, as of some minutes ago: see `KeyRing`. Absent: never used, or not since this is recorded. */
  lastUsedAt?: number | undefined;
  /** Absent: not bound. */
  bounds?: KeyBounds | undefined;
  /** Absent: a key. A session has the role of the key that made it, no name and no bounds. */
  sessionOf?: SessionOf | undefined;
}

/** The key that made a session, and the hash of the secret that it did it with: the session ends with either. */
export interface SessionOf {
  keyId: string;
  secretHash: string;
}

/** Id of the admin key that stands in the coordinator's environment. */
export const environmentKeyId = 'environment';

/** How long a session lasts at most, ms: 30 days. */
export const sessionMsMax = 30 * 86_400_000;
/** Sessions of one key; the oldest ends when one more is made. */
export const sessionsMax = 50;

/** Who makes a request, once the key is accepted. In a session it is the key that made the session. */
export interface Principal {
  keyId: string;
  role: Role;
  /** Of the key; null when it has none. */
  name: string | null;
  bounds: KeyBounds | null;
  /** Hash of the secret it came with: a rotated key has two for a while, and a session has its own. */
  secretHash: string;
  /** Absent: it came with the key itself. */
  sessionId?: string | undefined;
}

/** Each has all of the ones before it. */
const ranks: readonly Role[] = ['viewer', 'client', 'operator', 'admin'];

/** Whether a role may do what is declared for `needed`. `metrics` is for every key that reads, and for its own. */
export function roleMay(role: Role, needed: Role): boolean {
  if (needed === 'worker') return role === 'worker' || role === 'admin';
  if (needed === 'metrics') return role === 'metrics' || ranks.includes(role);
  return ranks.includes(role) && ranks.indexOf(role) >= ranks.indexOf(needed);
}

/** Whether a role is served out of the reserve that nobody else gets: whoever must be able to get in when others fill it. */
export function isPrivileged(role: Role): boolean {
  return role === 'operator' || role === 'admin';
}

/** Whether a key of a list is the only one of it that is an admin's. */
export function isLastAdmin(keys: readonly Pick<KeyRecord, 'id' | 'role'>[], id: string): boolean {
  const admins = keys.filter(({ role }) => role === 'admin');
  return admins.length === 1 && admins[0]?.id === id;
}
