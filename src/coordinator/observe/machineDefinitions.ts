import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { machines } from '../../../machines/all.ts';
import type {
  MachineDefinition,
  MachineName,
  StateDefinition,
  TransitionDefinition,
} from '../../domain/machine.ts';
import { implementationName } from '../../lib/implementationName.ts';

/** Every machine as data, read off the machines themselves. */
export const machineDefinitions: ReadonlyMap<string, MachineDefinition> = new Map(
  Object.entries(machines).map(([name, { root }]) => [
    name,
    {
      name: name as MachineName,
      description: root.description ?? '',
      initial: initialOf(root),
      states: statesBelow(root),
      transitions: transitionsOf(root),
    },
  ]),
);

/** Paths of the states in which an actor can come to rest. */
export function restingStates({ states }: MachineDefinition): string[] {
  return states.filter(({ kind }) => kind === 'atomic' || kind === 'final').map(({ path }) => path);
}

function statesBelow(node: AnyStateNode): StateDefinition[] {
  return Object.values(node.states).flatMap((state) => [stateOf(state), ...statesBelow(state)]);
}

function stateOf(node: AnyStateNode): StateDefinition {
  return {
    path: pathOf(node),
    description: node.description ?? '',
    kind: kindOf(node),
    initial: initialOf(node),
    tags: [...node.tags],
    transitions: transitionsOf(node),
  };
}

function kindOf(node: AnyStateNode): StateDefinition['kind'] {
  if ((node.always ?? []).length > 0) return 'transient';
  return node.type === 'final' || node.type === 'compound' ? node.type : 'atomic';
}

function initialOf(node: AnyStateNode): string | null {
  const [target] = node.type === 'compound' ? (node.initial.target ?? []) : [];
  return target === undefined ? null : pathOf(target);
}

function transitionsOf(node: AnyStateNode): TransitionDefinition[] {
  const events = [...node.transitions].flatMap(([event, all]) => all.map((one) => transitionOf(event, one)));
  return [...(node.always ?? []).map((one) => transitionOf(null, one)), ...events];
}

function transitionOf(event: string | null, definition: AnyTransitionDefinition): TransitionDefinition {
  const [target] = definition.target ?? [];
  return {
    event,
    guard: definition.guard === undefined ? null : implementationName(definition.guard),
    target: target === undefined ? null : pathOf(target),
    actions: definition.actions.map(implementationName),
    description: definition.description ?? null,
  };
}

function pathOf(node: AnyStateNode): string {
  return node.path.join('.');
}
