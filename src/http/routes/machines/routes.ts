import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { machineDefinitions } from '../../../coordinator/observe/index.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { WireMachineList } from '../../../domain/wire/machine.ts';
import { presentMachine } from '../../../present/machine.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/machines: what may happen to jobs, workers, providers and the whole, and how many are where. */
export function machineRoutes(coordinator: Coordinator): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/machines',
      role: 'viewer',
      handle: async ({ query }) => {
        parseNothing(query);
        const counts = await coordinator.machineCounts();
        const machines = [...machineDefinitions.values()].map((definition) =>
          presentMachine(definition, counts[definition.name]),
        );
        const list: WireMachineList = { machines, total: machines.length };
        return { json: list };
      },
    },
    {
      method: 'GET',
      path: '/api/machines/:name',
      role: 'viewer',
      handle: async ({ params: { name = '' }, query }) => {
        parseNothing(query);
        const definition = machineDefinitions.get(name);
        if (definition === undefined) {
          throw new CoordinatorError('not_found', `There is no machine ${name}`);
        }
        return { json: presentMachine(definition, (await coordinator.machineCounts())[definition.name]) };
      },
    },
  ];
}
