import type { Coordinator, JobView } from '../../coordinator/coordinator.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { Principal } from '../../domain/key.ts';
import { maySee } from './owner.ts';

/**
 * A job as one form of answer, if this key may read it so: a client key reads its own. It may be deleted there.
 * @param forms of `DoorRequest`; null for a job of the native API.
 */
export async function readable(
  jobId: string,
  principal: Principal,
  coordinator: Coordinator,
  forms: readonly (string | null)[],
): Promise<JobView | null> {
  try {
    const view = await coordinator.job(jobId);
    const { createdBy, request } = view.job;
    if (!maySee(principal, createdBy) || !forms.includes(request.door?.form ?? null)) return null;
    return view;
  } catch (error) {
    if (error instanceof CoordinatorError && error.code === 'job_not_found') return null;
    throw error;
  }
}
