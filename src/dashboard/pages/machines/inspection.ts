import type { MachineName } from '../../../domain/machine.ts';
import type { WireInspected, WireInspectedActor, WireInspection } from '../../../domain/wire/machine.ts';

/** The maximum kept by a page, as by the coordinator. */
const actorsMax = 200;
const eventsMax = 300;

/** An event with a number of its own, as its key in a list. */
export interface Numbered extends WireInspected {
  place: number;
}

/** The actors known to the page; the newest first. */
export interface Seen {
  isOn: boolean;
  actors: readonly WireInspectedActor[];
  events: readonly Numbered[];
}

export function seenOf({ enabled, actors, events }: WireInspection): Seen {
  const numbered = events.map((event, place) => ({ ...event, place }));
  return { isOn: enabled, actors, events: numbered.reverse() };
}

/** The state after these events, oldest first. */
export function withInspected(seen: Seen, events: readonly WireInspected[]): Seen {
  const actors = new Map(seen.actors.map((actor) => [keyOf(actor), actor]));
  for (const { machine, actor_id, to, at } of events) {
    const key = keyOf({ machine, actor_id });
    const known = actors.get(key);
    // Deleted first, so that it becomes the last one of the map.
    actors.delete(key);
    actors.set(key, {
      machine,
      actor_id,
      state: to,
      event_count: (known?.event_count ?? 0) + 1,
      updated_at: at,
    });
  }
  const first = (seen.events[0]?.place ?? -1) + 1;
  const numbered = events.map((event, index) => ({ ...event, place: first + index }));
  return {
    isOn: seen.isOn,
    actors: [...actors.values()]
      .sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at))
      .slice(0, actorsMax),
    events: [...numbered.reverse(), ...seen.events].slice(0, eventsMax),
  };
}

/** The key of an actor among all of them, also in the address: `job 019a…`. */
export function keyOf({ machine, actor_id }: { machine: MachineName; actor_id: string }): string {
  return `${machine} ${actor_id}`;
}
