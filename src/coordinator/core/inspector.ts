import { type InspectionEvent, isMachineSnapshot } from 'xstate';
import { pathOf } from '../../../machines/statePath.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Inspected, InspectedActor, Inspection } from '../../domain/inspection.ts';
import type { MachineName } from '../../domain/machine.ts';
import type { Logger } from '../../lib/log.ts';
import { inspectable } from './inspectable.ts';

/**
 * Events that are remembered for those who come to look, some 2 KB each. Of each machine some: every frame of a worker is
 * an event of its actor, and many workers would leave no room for jobs.
 */
const eventsMax: Record<MachineName, number> = {
  job: 150,
  // They have no actors.
  lease: 0,
  worker: 60,
  health: 60,
  provider: 60,
  run: 60,
  batch: 60,
  supervisor: 60,
};
const actorsMax = 200;

/** Events of all machines have one order. */
interface Numbered {
  number: number;
  inspected: Inspected;
}

type Listener = (inspected: Inspected) => void;

/** What `createActor` takes; empty when nobody inspects, so that the actor then has no observer at all. */
export type InspectOption = { inspect: (event: InspectionEvent) => void } | Record<string, never>;

/**
 * Sees every event of every actor, for maintainers: `svc coordinator --inspect`. It shows what actors do, which is before
 * their change is durable: one whose commit fails has been seen and did not happen.
 */
export class Inspector {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** In the order of their last event. */
  readonly #actors = new Map<string, InspectedActor>();
  readonly #events: Record<MachineName, Numbered[]> = {
    job: [],
    lease: [],
    worker: [],
    health: [],
    provider: [],
    run: [],
    batch: [],
    supervisor: [],
  };
  #number = 0;
  readonly #listeners = new Set<Listener>();

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** For an actor that is about to be made. @param isNew whether its beginning is shown: it was never there before. */
  optionFor(machine: MachineName, actorId: string, isNew = false): InspectOption {
    return {
      inspect: (event) => {
        try {
          this.#see(machine, actorId, isNew, event);
        } catch (error) {
          // XState calls this amid the actor's own work, which must not fail because somebody looks on.
          this.#logger.error({ err: error }, 'an event could not be inspected');
        }
      },
    };
  }

  /** Call the listener with every event from now on. The returned function ends it. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read(): Inspection {
    const events = Object.values(this.#events)
      .flat()
      .sort((a, b) => a.number - b.number)
      .map(({ inspected }) => inspected);
    return { isOn: true, actors: [...this.#actors.values()].reverse(), events };
  }

  #see(machine: MachineName, actorId: string, isNew: boolean, event: InspectionEvent): void {
    if (event.type !== '@xstate.snapshot' || !isMachineSnapshot(event.snapshot)) return;
    const at = this.#clock.now();
    const key = `${machine} ${actorId}`;
    const known = this.#actors.get(key);
    const to = pathOf(event.snapshot.value);
    // A job at rest becomes an actor for each of its events; that it is restored is no event of the machine.
    const isOwn = isNew || !event.event.type.startsWith('xstate.');
    const eventCount = (known?.eventCount ?? 0) + (isOwn ? 1 : 0);
    this.#actors.delete(key);
    this.#actors.set(key, { machine, actorId, state: to, eventCount, updatedAt: at });
    if (this.#actors.size > actorsMax) this.#forgetOldest();
    if (!isOwn) return;
    const inspected: Inspected = {
      at,
      machine,
      actorId,
      event: { ...inspectable(event.event), type: event.event.type },
      from: known?.state ?? null,
      to,
      context: inspectable(event.snapshot.context),
    };
    const events = this.#events[machine];
    this.#number += 1;
    events.push({ number: this.#number, inspected });
    if (events.length > eventsMax[machine]) events.shift();
    for (const listener of this.#listeners) listener(inspected);
  }

  #forgetOldest(): void {
    const [oldest] = this.#actors.keys();
    if (oldest !== undefined) this.#actors.delete(oldest);
  }
}

/** What there is to see when nobody inspects. */
export const nothingInspected: Inspection = { isOn: false, actors: [], events: [] };

/** The option of an actor, with or without an inspector. @param isNew see `optionFor`. */
export function inspectOption(
  inspector: Inspector | null,
  machine: MachineName,
  actorId: string,
  isNew = false,
): InspectOption {
  return inspector === null ? {} : inspector.optionFor(machine, actorId, isNew);
}
