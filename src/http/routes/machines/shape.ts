import { machineNames } from '../../../domain/machine.ts';
import type {
  WireMachine,
  WireMachineList,
  WireMachineState,
  WireMachineTransition,
} from '../../../domain/wire/machine.ts';
import { count, list, named, nullable, object, oneOf, text } from '../../shape/shape.ts';

const machineTransitionShape = named(
  'MachineTransition',
  object<WireMachineTransition>({
    event: nullable(text(), 'null: at once, without an event.'),
    guard: nullable(text(), 'What must hold.'),
    target: nullable(text(), 'Path of the next state; null if the state does not change.'),
    actions: list(text()),
    description: nullable(text()),
  }),
);

const machineStateShape = named(
  'MachineState',
  object<WireMachineState>({
    path: text('`pending.ready` is inside of `pending`.'),
    description: text(),
    kind: oneOf(
      ['atomic', 'compound', 'transient', 'final'],
      '`compound` has states inside; `transient` is left at once; `final` ends the actor; `atomic` is everything else.',
    ),
    initial: nullable(text(), 'Of a compound one.'),
    tags: list(text()),
    count: count('Actors that are in it now, including those in its inner states.'),
    transitions: list(
      machineTransitionShape,
      'The first one of an event whose guard holds is taken; an event that is not listed is rejected.',
    ),
  }),
);

export const machineShape = named(
  'Machine',
  object<WireMachine>({
    name: oneOf(machineNames),
    description: text(),
    initial: nullable(
      text(),
      'Path of the state it begins in; null for a machine of regions, which begins in all of them.',
    ),
    total: count('Actors of this machine.'),
    states: list(machineStateShape, 'A state stands before those inside of it.'),
    transitions: list(machineTransitionShape, 'Transitions that are possible in every state.'),
  }),
);

export const machineListShape = named(
  'MachineList',
  object<WireMachineList>({ machines: list(machineShape), total: count() }),
);
