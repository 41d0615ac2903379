/** The machines of the coordinator: every job, worker, fault of a worker and provider is an actor of one, and so is the whole. */
export const machineNames = ['job', 'worker', 'health', 'provider', 'supervisor'] as const;
export type MachineName = (typeof machineNames)[number];

/** A machine as data: what may happen, for pages and programs that show it. */
export interface MachineDefinition {
  name: MachineName;
  description: string;
  /** Path of the state it begins in; null when it has regions that run side by side: it begins in all of them. */
  initial: string | null;
  /** A state before those inside of it. */
  states: StateDefinition[];
  /** What may happen in every state. */
  transitions: TransitionDefinition[];
}

export interface StateDefinition {
  /** `pending.ready`. */
  path: string;
  description: string;
  /** `compound` has states inside; `transient` is left at once; `final` ends the actor. */
  kind: 'atomic' | 'compound' | 'transient' | 'final';
  /** Of a compound one: path of the state that is entered with it; else null. */
  initial: string | null;
  tags: string[];
  transitions: TransitionDefinition[];
}

/** The first of an event's transitions whose guard holds is taken. */
export interface TransitionDefinition {
  /** null: at once, without an event. */
  event: string | null;
  /** Name of what must hold; null when nothing must. */
  guard: string | null;
  /** Path of the next state; null when the state stays. */
  target: string | null;
  /** Names, in order. */
  actions: string[];
  description: string | null;
}

/** How many actors are in each state that they can rest in, by its path. */
export type MachineCounts = Record<MachineName, Record<string, number>>;
