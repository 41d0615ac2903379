import type { WireRunFailure } from '../../../domain/wire/run.ts';

/** Failures of one class, the most frequent first, as they are retried together. */
export function byClass(
  failures: readonly WireRunFailure[],
): { errorClass: string; jobs: number; groups: WireRunFailure[] }[] {
  return [...Map.groupBy(failures, (failure) => failure.class)]
    .map(([errorClass, groups]) => {
      return { errorClass, groups, jobs: groups.reduce((sum, group) => sum + group.count, 0) };
    })
    .sort((a, b) => b.jobs - a.jobs);
}
