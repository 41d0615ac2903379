import type { Config } from '../config/config.ts';
import type { JobRequest, RouteStep, Target } from '../domain/job.ts';

/** Where a job is to run, and who comes next when that fails. */
export interface Plan {
  target: Target;
  chain: Target[];
  steps: RouteStep[];
}

/** Clients write this, or nothing, to leave the provider to the routing. */
export const autoProvider = 'auto';

/**
 * Decide where a job is to run. Pure: same job, same configuration, same answer.
 * @returns null when nothing names a provider: not the job, no default, no chain.
 */
export function planRoute(request: JobRequest, config: Config): Plan | null {
  const target = (provider: string): Target => ({
    provider,
    model: request.model,
    worker: null,
    workerTag: null,
  });
  if (request.provider !== null && request.provider !== autoProvider) {
    return { target: target(request.provider), chain: [], steps: [] };
  }
  const { strategy, chain } = config.routing;
  const [first, ...rest] = strategy === 'direct' ? [config.jobs.defaultProvider] : chain;
  if (first === undefined || first === null) return null;
  return {
    target: target(first),
    chain: rest.flatMap((name) => (name === null ? [] : [target(name)])),
    steps: [],
  };
}
