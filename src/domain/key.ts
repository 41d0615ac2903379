/**
 * Who may do what. Each of the first four roles includes the one before. `worker` (the worker socket and its
 * configuration) and `metrics` (GET /metrics and nothing else) are separate.
 */
export const roles = ['viewer', 'client', 'operator', 'admin', 'worker', 'metrics'] as const;
export type Role = (typeof roles)[number];

/** What a worker may declare with this key; null: anything. Only keys with the role `worker` have bounds. */
export interface KeyBounds {
  /** Its name must match one of them; `*` matches any text. */
  namePatterns: string[] | null;
  /** Every tag of the worker must be one of them. */
  tags: string[] | null;
  /** Every provider of the worker must be one of them. */
  providers: string[] | null;
  /** Slots for all connected workers of the key together. */
  maxConcurrency: number | null;
}

export const notBound: KeyBounds = Object.freeze({
  namePatterns: null,
  tags: null,
  providers: null,
  maxConcurrency: null,
});

/** A stored API key: never the secret itself. */
export interface KeyRecord {
  id: string;
  role: Role;
  name: string | null;
  /** SHA-256 of the secret, hex. */
  secretHash: string;
  /** The secret before the last rotation, and until when it is accepted, epoch ms. */
  previous: { secretHash: string; until: number } | null;
  createdAt: number;
  /** Epoch ms, or null. */
  expiresAt: number | null;
  /**
   * Epoch ms of a recent request with it, some minutes behind: see `KeyRing`. Absent: not used since this is recorded.
   */
  lastUsedAt?: number | undefined;
  /** Absent: no bounds. */
  bounds?: KeyBounds | undefined;
  /** Absent: it is a key. A session has the role of its key, no name and no bounds. */
  sessionOf?: SessionOf | undefined;
}

/** The key that created a session, and the hash of the secret used for that: the session ends with either. */
export interface SessionOf {
  keyId: string;
  secretHash: string;
}

/** A program that has used a key. */
export interface KeyClient {
  /** Its `User-Agent`, shortened. */
  name: string;
  /** Where its last request came from; null when unknown. */
  address: string | null;
  /** Epoch ms of its last request. */
  at: number;
}

/** Id of the admin key from the coordinator's environment. */
export const environmentKeyId = 'environment';

/** Longest duration of a session, ms: 30 days. */
export const sessionMsMax = 30 * 86_400_000;
/** Sessions of one key; a further one ends the oldest. */
export const sessionsMax = 50;

/** The author of a request, after its key was accepted. In a session, the key that created it. */
export interface Principal {
  keyId: string;
  role: Role;
  /** Of the key; null when it has none. */
  name: string | null;
  bounds: KeyBounds | null;
  /** Hash of the secret in use: a rotated key has two for a while, and a session has its own. */
  secretHash: string;
  /** Absent: the key itself was used. */
  sessionId?: string | undefined;
}

/** The roles that may make sessions. Each has all of the ones before it. */
export const ranks: readonly Role[] = ['viewer', 'client', 'operator', 'admin'];

/** Whether a role has the rights of `needed`. `metrics` is allowed for every key that reads, and for its own role. */
export function roleMay(role: Role, needed: Role): boolean {
  if (needed === 'worker') return role === 'worker' || role === 'admin';
  if (needed === 'metrics') return role === 'metrics' || ranks.includes(role);
  return ranks.includes(role) && ranks.indexOf(role) >= ranks.indexOf(needed);
}

/** Whether a role may use the reserve: the roles that must be able to get in when others fill the service. */
export function isPrivileged(role: Role): boolean {
  return role === 'operator' || role === 'admin';
}

/** Whether a key is the only admin key of a list. */
export function isLastAdmin(keys: readonly Pick<KeyRecord, 'id' | 'role'>[], id: string): boolean {
  const admins = keys.filter(({ role }) => role === 'admin');
  return admins.length === 1 && admins[0]?.id === id;
}
