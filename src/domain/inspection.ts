import type { MachineName } from './machine.ts';

/** What an actor has done with one event, without anything that belongs to those who use the service. */
export interface Inspected {
  /** Epoch ms. */
  at: number;
  machine: MachineName;
  /** Of the job or worker; the provider's name; `supervisor`. */
  actorId: string;
  /** Its `type`, and of the rest what may be shown. */
  event: { type: string } & Record<string, unknown>;
  /** Path of the state before; null when it is not known any more. */
  from: string | null;
  to: string;
  /** Of its context what may be shown. */
  context: Record<string, unknown>;
}

/** An actor that has done something lately. */
export interface InspectedActor {
  machine: MachineName;
  actorId: string;
  state: string;
  /** Events that it has handled while it was inspected. */
  eventCount: number;
  updatedAt: number;
}

export interface Inspection {
  /** Whether the coordinator was started to be inspected; nothing is there otherwise. */
  isOn: boolean;
  /** The last ones, the most recent first. */
  actors: InspectedActor[];
  /** The last ones, oldest first. */
  events: Inspected[];
}
