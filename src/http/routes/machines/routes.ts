import { machineDefinitions } from '../../../coordinator/observe/index.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { machineNames } from '../../../domain/machine.ts';
import { presentMachine } from '../../../present/machine.ts';
import { defineRoute, type Route } from '../../route.ts';
import { machineListShape, machineShape } from './shape.ts';

const listMachines = defineRoute({
  method: 'GET',
  path: '/api/machines',
  role: 'viewer',
  name: 'listMachines',
  tag: 'Figures',
  summary: 'The state machines, and how many actors are in each state',
  description:
    'Jobs, workers and providers are actors of state machines, and so is the coordinator as a whole. These are the machines that run, as data, with the number of actors that are in each state now.',

  answers: {
    200: { description: 'Every machine.', shape: machineListShape },
  },

  handle: async (_, { coordinator }) => {
    const counts = await coordinator.machineCounts();
    const machines = [...machineDefinitions.values()].map((definition) =>
      presentMachine(definition, counts[definition.name]),
    );
    return { json: { machines, total: machines.length } };
  },
});

const getMachine = defineRoute({
  method: 'GET',
  path: '/api/machines/:name',
  role: 'viewer',
  name: 'getMachine',
  tag: 'Figures',
  summary: 'One machine',

  params: { name: { schema: { type: 'string', enum: machineNames } } },
  answers: {
    200: { description: 'The machine.', shape: machineShape },
  },
  problems: ['NotFound'],

  handle: async ({ params: { name } }, { coordinator }) => {
    const definition = machineDefinitions.get(name);
    if (definition === undefined) {
      throw new CoordinatorError('not_found', `There is no machine ${name}`);
    }
    return { json: presentMachine(definition, (await coordinator.machineCounts())[definition.name]) };
  },
});

/** /api/machines: what may happen to jobs, workers, providers and the whole, and how many are where. */
export const machineRoutes: readonly Route[] = [listMachines, getMachine];
