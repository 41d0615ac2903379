import type { MachineDefinition, StateDefinition, TransitionDefinition } from '../domain/machine.ts';
import type { WireMachine, WireMachineState, WireMachineTransition } from '../domain/wire/machine.ts';

/** A machine for the API, with the number of actors in each state. @param counts by path of the state. */
export function presentMachine(
  definition: MachineDefinition,
  counts: Readonly<Record<string, number>>,
): WireMachine {
  const { name, description, initial, states, transitions } = definition;
  return {
    name,
    description,
    initial,
    total: Object.values(counts).reduce((sum, count) => sum + count, 0),
    states: states.map((state) => presentState(state, counts)),
    transitions: transitions.map(presentTransition),
  };
}

function presentState(state: StateDefinition, counts: Readonly<Record<string, number>>): WireMachineState {
  const { path, description, kind, initial, tags, transitions } = state;
  // A compound state includes the actors of its children.
  const count = Object.entries(counts)
    .filter(([at]) => at === path || at.startsWith(`${path}.`))
    .reduce((sum, [, inside]) => sum + inside, 0);
  return { path, description, kind, initial, tags, count, transitions: transitions.map(presentTransition) };
}

/** One word per idea: internally and on the wire they are the same. */
function presentTransition(transition: TransitionDefinition): WireMachineTransition {
  return transition;
}
