import type { MachineName } from '../machine.ts';
import type { Iso } from './iso.ts';

/** A machine with the number of actors in each state: jobs, workers, providers, or the supervisor. */
export interface WireMachine {
  name: MachineName;
  description: string;
  /** null: its states are regions that run side by side. */
  initial: string | null;
  total: number;
  states: WireMachineState[];
  /** In every state. */
  transitions: WireMachineTransition[];
}

export interface WireMachineState {
  path: string;
  description: string;
  kind: 'atomic' | 'compound' | 'transient' | 'final';
  initial: string | null;
  tags: string[];
  /** Includes its children. */
  count: number;
  transitions: WireMachineTransition[];
}

export interface WireMachineTransition {
  /** null: at once, without an event. */
  event: string | null;
  guard: string | null;
  /** null: the state stays. */
  target: string | null;
  actions: string[];
  description: string | null;
}

/** An actor that was active since the inspection began. */
export interface WireInspectedActor {
  machine: MachineName;
  actor_id: string;
  state: string;
  event_count: number;
  updated_at: Iso;
}

/** An actor handling one event. Only fields of event and context without user data are included. */
export interface WireInspected {
  at: Iso;
  machine: MachineName;
  actor_id: string;
  event: { type: string } & Record<string, unknown>;
  /** null for the beginning of a job (`xstate.init`), and when no longer known. */
  from: string | null;
  to: string;
  context: Record<string, unknown>;
}

export interface WireInspection {
  /** Whether the coordinator was started with `--inspect`; the rest is empty otherwise. */
  enabled: boolean;
  /** The most recent first. */
  actors: WireInspectedActor[];
  /** Oldest first. */
  events: WireInspected[];
}

export interface WireMachineList {
  machines: WireMachine[];
  total: number;
}
