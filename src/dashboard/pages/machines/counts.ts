import type { WireTransition } from '../../../domain/liveProtocol.ts';
import type { MachineCounts, MachineName } from '../../../domain/machine.ts';
import { machineNames } from '../../../domain/machine.ts';
import { withAncestors } from '../../statechart/visits.ts';

/** The counts after an actor changed its state. Never negative: the snapshot may already include it. */
export function moved(counts: MachineCounts, { machine, from, to }: WireTransition): MachineCounts {
  const name = machineNames.find((known) => known === machine);
  if (name === undefined) return counts;
  const states = { ...counts[name] };
  if (from !== null) states[from] = Math.max(0, (states[from] ?? 0) - 1);
  // Nothing stays in a state that is not counted, such as that of a lease that has ended.
  if (states[to] !== undefined) states[to] += 1;
  return { ...counts, [name]: states };
}

/** How many actors are in each state, including its children. */
export function countsByPath(counts: MachineCounts, machine: MachineName): Map<string, number> {
  const byPath = new Map<string, number>();
  for (const [state, count] of Object.entries(counts[machine])) {
    for (const path of withAncestors(state)) byPath.set(path, (byPath.get(path) ?? 0) + count);
  }
  return byPath;
}

/** The newest first, at most `max`. */
export function withNewest<T>(known: readonly T[], newest: readonly T[], max: number): T[] {
  return [...newest].reverse().concat(known).slice(0, max);
}
