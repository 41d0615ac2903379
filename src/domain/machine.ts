/**
 * The machines of the coordinator: every job, lease, worker, fault of a worker, provider, run and batch follows one, and so
 * does the coordinator itself.
 */
export const machineNames = [
  'job',
  'lease',
  'worker',
  'health',
  'provider',
  'run',
  'batch',
  'supervisor',
] as const;
export type MachineName = (typeof machineNames)[number];

/** A machine as data, for pages and programs that show it. */
export interface MachineDefinition {
  name: MachineName;
  description: string;
  /** Path of the initial state; null for a machine with parallel regions, all of which it starts in. */
  initial: string | null;
  /** Parents before their children. */
  states: StateDefinition[];
  /** Transitions that apply in every state. */
  transitions: TransitionDefinition[];
}

export interface StateDefinition {
  /** `pending.ready`. */
  path: string;
  description: string;
  /** `compound` has states inside; `transient` is left at once; `final` ends the actor. */
  kind: 'atomic' | 'compound' | 'transient' | 'final';
  /** Of a compound state: path of its initial child; else null. */
  initial: string | null;
  tags: string[];
  transitions: TransitionDefinition[];
}

/** The first of an event's transitions whose guard holds is taken. */
export interface TransitionDefinition {
  /** null: at once, without an event. */
  event: string | null;
  /** Name of the guard; null for none. */
  guard: string | null;
  /** Path of the next state; null when the state stays. */
  target: string | null;
  /** Names, in order. */
  actions: string[];
  description: string | null;
}

/** How many actors are in each state they can rest in, by path. */
export type MachineCounts = Record<MachineName, Record<string, number>>;
