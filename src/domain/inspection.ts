import type { MachineName } from './machine.ts';

/** An actor handling one event, or beginning, without any user's data. */
export interface Inspected {
  /** Epoch ms. */
  at: number;
  machine: MachineName;
  /** Id of the job or worker; the provider's name; `supervisor`. */
  actorId: string;
  /** Its `type`, and the fields that may be shown. */
  event: { type: string } & Record<string, unknown>;
  /** Path of the state before; null for the beginning of a job (`xstate.init`), and when no longer known. */
  from: string | null;
  to: string;
  /** The part of its context that may be shown. */
  context: Record<string, unknown>;
}

/** An actor that was recently active. */
export interface InspectedActor {
  machine: MachineName;
  actorId: string;
  state: string;
  /** Events it has handled since the inspection began. */
  eventCount: number;
  updatedAt: number;
}

export interface Inspection {
  /** Whether the coordinator was started with inspection; everything is empty otherwise. */
  isOn: boolean;
  /** The most recent first. */
  actors: InspectedActor[];
  /** The last events, oldest first. */
  events: Inspected[];
}
