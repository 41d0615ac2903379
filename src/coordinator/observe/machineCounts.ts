import type { MachineCounts, MachineName } from '../../domain/machine.ts';
import { servedBy } from '../fleet/index.ts';
import { machineDefinitions, restingStates } from './machineDefinitions.ts';
import type { StatsParts } from './stats.ts';

/** How many actors of each machine are in each state that they can rest in, also where that is none. */
export async function countMachines({
  store,
  leases,
  workers,
  providers,
  runs,
  supervisor,
}: Pick<
  StatsParts,
  'store' | 'leases' | 'workers' | 'providers' | 'runs' | 'supervisor'
>): Promise<MachineCounts> {
  const { byState } = await store.counts();
  // One that has met no job yet has no actor and counts as available.
  const statuses = providers.views(servedBy(workers.fleet())).map(({ status }) => status);
  // Nothing stays ended: the slot is free then.
  const { ended: _ended, ...lease } = countStates('lease', leases.phases());
  return {
    job: byState,
    lease,
    worker: countStates('worker', workers.states()),
    health: countStates('health', workers.healthStates()),
    provider: countStates('provider', statuses),
    run: runs.counts(),
    batch: runs.batchCounts(),
    supervisor: countStates('supervisor', supervisor.states),
  };
}

function countStates(machine: MachineName, states: readonly string[]): Record<string, number> {
  const definition = machineDefinitions.get(machine);
  const paths = definition === undefined ? [] : restingStates(definition);
  const counts = new Map(paths.map((path) => [path, 0]));
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return Object.fromEntries(counts);
}
