import type { JobCreator } from '../../domain/job.ts';
import type { Principal } from '../../domain/key.ts';

/** Whether a key may see what a key made: a client key its own, the others everything. */
export function maySee({ keyId, role }: Principal, createdBy: JobCreator | null): boolean {
  return role !== 'client' || createdBy?.keyId === keyId;
}
