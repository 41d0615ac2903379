import { type KeyClient, type KeyRecord, notBound } from '../../../domain/key.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireKey, WireKeyUse } from '../../../domain/wire/key.ts';
import type { WorkerView } from '../../../domain/worker.ts';

/** Workers that are named. */
const workersMax = 100;

/** Who uses a key. @param workers of the whole fleet. */
export function presentUse(
  keyId: string,
  workers: readonly WorkerView[],
  { clients, hasMore }: { clients: readonly KeyClient[]; hasMore: boolean },
): WireKeyUse {
  const own = workers.filter(({ life }) => life.owner?.keyId === keyId);
  return {
    workers: own.slice(0, workersMax).map(({ life }) => life.name),
    clients: clients.map(({ name, address, at }) => ({ name, address, last_used_at: iso(at) })),
    ...(hasMore || own.length > workersMax ? { more: true as const } : {}),
  };
}

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
