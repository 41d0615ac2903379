import type { MachineCounts, MachineName } from '../../domain/machine.ts';
import type { ProviderView } from '../../domain/provider.ts';
import type { Store } from '../../store/store.ts';
import type { Workers } from '../fleet/index.ts';
import { machineDefinitions, restingStates } from './machineDefinitions.ts';

/** How many actors of each machine are in each state that they can rest in, also where that is none. */
export async function countMachines(parts: {
  store: Store;
  workers: Workers;
  /** One that has met no job yet has no actor and counts as available. */
  providers: () => readonly ProviderView[];
  /** A state of each region. */
  supervisor: readonly string[];
}): Promise<MachineCounts> {
  const { byState } = await parts.store.counts();
  const providers = parts.providers().map(({ status }) => status);
  return {
    job: byState,
    worker: countStates('worker', parts.workers.states()),
    health: countStates('health', parts.workers.healthStates()),
    provider: countStates('provider', providers),
    supervisor: countStates('supervisor', parts.supervisor),
  };
}

function countStates(machine: MachineName, states: readonly string[]): Record<string, number> {
  const definition = machineDefinitions.get(machine);
  const paths = definition === undefined ? [] : restingStates(definition);
  const counts = new Map(paths.map((path) => [path, 0]));
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return Object.fromEntries(counts);
}
