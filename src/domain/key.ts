/** Who may do what. Each role of the first four has all of the one before; `worker` stands apart. */
export const roles = ['viewer', 'client', 'operator', 'admin', 'worker'] as const;
export type Role = (typeof roles)[number];

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
}

/** Who makes a request, once the key is accepted. */
export interface Principal {
  keyId: string;
  role: Role;
  /** Hash of the secret it came with: a rotated key has two for a while. */
  secretHash: string;
}

/** Whether a role may do what is declared for `needed`. */
export function roleMay(role: Role, needed: Role): boolean {
  if (needed === 'worker') return role === 'worker' || role === 'admin';
  return role !== 'worker' && roles.indexOf(role) >= roles.indexOf(needed);
}

/** Whether a key of a list is the only one of it that is an admin's. */
export function isLastAdmin(keys: readonly Pick<KeyRecord, 'id' | 'role'>[], id: string): boolean {
  const admins = keys.filter(({ role }) => role === 'admin');
  return admins.length === 1 && admins[0]?.id === id;
}
