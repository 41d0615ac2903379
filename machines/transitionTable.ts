import type { AnyStateMachine, EventFrom, StateValueFrom } from 'xstate';

/** Where each event leads from each state; nowhere when there is no entry. */
export type TransitionTable<State extends string, Type extends string> = Readonly<
  Record<State, Readonly<Partial<Record<Type, State>>>>
>;

type StateOf<M extends AnyStateMachine> = Extract<StateValueFrom<M>, string>;

/**
 * A machine as a table: for what there is so much of that a look at an object is all that a transition may cost.
 * @throws Error when the machine has what a table cannot say: states in states, guards, actions.
 */
export function transitionTable<M extends AnyStateMachine>({
  id,
  root,
}: M): TransitionTable<StateOf<M>, EventFrom<M>['type']> {
  const rows = Object.values(root.states).map((state) => {
    const cells = [...state.transitions].map(([event, transitions]) => {
      const [transition, ...others] = transitions;
      const [target] = transition?.target ?? [];
      if (target === undefined || others.length > 0 || transition?.guard || transition?.actions.length !== 0)
        throw new Error(`${id}: ${state.key} needs more than a table on ${event}`);
      return [event, target.key] as const;
    });
    if (Object.keys(state.states).length > 0 || state.entry.length + state.exit.length > 0)
      throw new Error(`${id}: ${state.key} is more than a row of a table`);
    return [state.key, Object.fromEntries(cells)] as const;
  });
  if (root.transitions.size > 0) throw new Error(`${id} has transitions of all of its states`);
  return Object.fromEntries(rows) as TransitionTable<StateOf<M>, EventFrom<M>['type']>;
}
