import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { AnyStateMachine } from 'xstate';
import { machines } from '../../machines/all.ts';
import { stateValueOf } from '../../machines/statePath.ts';
import type { Inspector } from '../coordinator/core/index.ts';
import type { Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { Inspected, InspectedActor } from '../domain/inspection.ts';
import type { MachineName } from '../domain/machine.ts';
import { StatelyBridge } from './statelyBridge.ts';

const secretBytes = 16;
/** Actors announced to the viewer; it has no event for their end, so beyond this they are announced again. */
const announcedMax = 500;

export interface StatelyView {
  /** The page to open in a browser on this machine. */
  url: string;
  close(): void;
}

/**
 * Show an inspector's events in the Stately inspector, through @statelyai/inspect. They have passed our own filter
 * before, and each job keeps one name however often it becomes an actor.
 * @throws Error when the package is not installed, as in an install without development dependencies.
 */
export async function showInStately(inspector: Inspector, random: Random): Promise<StatelyView> {
  const { createWebSocketInspector } = await import('@statelyai/inspect').catch((error: unknown) => {
    throw new Error(
      `--inspect=stately needs the package @statelyai/inspect, a development dependency: npm ci (${messageOf(error)})`,
    );
  });
  const bridge = new StatelyBridge(Buffer.from(random.bytes(secretBytes)).toString('hex'));
  await bridge.open();
  const stately = createWebSocketInspector({ url: bridge.inputUrl });
  await bridge.fed;
  const frames = new Frames();
  const show = (inspected: Inspected): void => {
    for (const frame of frames.of(inspected)) stately.adapter.send(frame);
  };
  // The coordinator itself and its providers existed before the viewer, and may have no event for days.
  const { actors, events } = inspector.read();
  for (const event of events) show(event);
  for (const actor of actors) for (const frame of frames.ofActor(actor)) stately.adapter.send(frame);
  const unwatch = inspector.watch(show);
  return {
    url: bridge.pageUrl,
    close: () => {
      unwatch();
      stately.stop();
      bridge.close();
    },
  };
}

/** Our events in the viewer's form: an actor before its first event, then each event with its result. */
class Frames {
  readonly #announced = new Set<string>();

  of(inspected: Inspected): StatelyInspectionEvent[] {
    const { machine, actorId, at, event, from, to, context } = inspected;
    const base = baseOf(machine, actorId, at);
    const status = 'active' as const;
    const snapshot = { status, value: stateValueOf(to), context, output: undefined, error: undefined };
    return [
      ...this.#introduce(machine, actorId, at, from ?? to, context),
      { ...base, type: '@xstate.event', event, sourceId: undefined },
      { ...base, type: '@xstate.snapshot', event, snapshot },
    ];
  }

  /** An actor; nothing when it was already announced. */
  ofActor({ machine, actorId, updatedAt, state }: InspectedActor): StatelyInspectionEvent[] {
    return this.#introduce(machine, actorId, updatedAt, state, {});
  }

  #introduce(
    machine: MachineName,
    actorId: string,
    at: number,
    state: string,
    context: Record<string, unknown>,
  ): StatelyInspectionEvent[] {
    const base = baseOf(machine, actorId, at);
    if (this.#announced.has(base.sessionId)) return [];
    if (this.#announced.size >= announcedMax) this.#announced.clear();
    this.#announced.add(base.sessionId);
    return [
      {
        ...base,
        type: '@xstate.actor',
        name: base.sessionId,
        parentId: undefined,
        definition: definitionOf(machines[machine]),
        snapshot: { status: 'active', value: stateValueOf(state), context },
      },
    ];
  }
}

function baseOf(machine: MachineName, actorId: string, at: number) {
  const sessionId = `${machine} ${actorId}`;
  return { sessionId, rootId: sessionId, createdAt: String(at), id: '', _version: '0.7.2' };
}

/** The machine as the viewer draws it. Its guards and actions are names, so JSON leaves none of them out. */
export function definitionOf(machine: AnyStateMachine): string {
  const { context: _context, ...config } = machine.config;
  return JSON.stringify(config);
}
