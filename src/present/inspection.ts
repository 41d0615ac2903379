import type { Inspected, Inspection } from '../domain/inspection.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireInspected, WireInspection } from '../domain/wire/machine.ts';

/** What actors did recently, for the API. */
export function presentInspection({ isOn, actors, events }: Inspection): WireInspection {
  return {
    enabled: isOn,
    actors: actors.map(({ machine, actorId, state, eventCount, updatedAt }) => ({
      machine,
      actor_id: actorId,
      state,
      event_count: eventCount,
      updated_at: iso(updatedAt),
    })),
    events: events.map(presentInspected),
  };
}

export function presentInspected(inspected: Inspected): WireInspected {
  const { at, machine, actorId, event, from, to, context } = inspected;
  return { at: iso(at), machine, actor_id: actorId, event, from, to, context };
}
