import { type KeyRecord, notBound } from '../../../domain/key.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireKey } from '../../../domain/wire/key.ts';

/** A key as the API shows it: never the key itself, nor its hash. */
export function presentKey(key: KeyRecord): WireKey {
  const { id, role, name, createdAt, expiresAt, lastUsedAt, previous, bounds = notBound } = key;
  return {
    id,
    role,
    name,
    created_at: iso(createdAt),
    expires_at: iso(expiresAt),
    last_used_at: iso(lastUsedAt ?? null),
    previous_valid_until: iso(previous?.until ?? null),
    name_patterns: bounds.namePatterns,
    tags: bounds.tags,
    providers: bounds.providers,
    max_concurrency: bounds.maxConcurrency,
  };
}
