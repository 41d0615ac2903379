import {
  type Actor,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type ContextFrom,
  createActor,
  type EventFrom,
  type InputFrom,
  type InspectionEvent,
} from 'xstate';
import { pathOf, stateValueOf } from './statePath.ts';

/*
 * All that we do to XState for speed. A job at rest is its state and its context in the store; it becomes an actor for the
 * moment of an event, thousands of times a second. What that costs in turns on one thread, in µs, for a job with three
 * attempts (Node 26, XState 5.33.3):
 *
 *     a new job                                an event of a job at rest
 *     `initialTransition`        19            `transition`                                16
 *     `createActor`               7            `createActor` with a snapshot, `send`       10.5
 *     `Runner.begin`              0.1          `Runner.restore` 0.8, `Runner.step` 4.7      5.5
 */

/** What an actor is given so that somebody can watch it; empty when nobody does, and then it has no observer at all. */
export interface Watch {
  inspect?: (event: InspectionEvent) => void;
}

/** An actor at rest, as it is stored. */
export interface Resting<Context, State> {
  /** As a path, `pending.ready`. */
  state: State;
  context: Context;
}

/** A transition that an actor has taken. */
export interface Stepped<Context, State, Effect> {
  from: State;
  to: State;
  context: Context;
  /** The actions that the machine names and does not implement itself, in order: type and parameters as one object. */
  effects: Effect[];
}

export type LiveActor = Actor<AnyStateMachine>;

type Guard = (args: { context: unknown; event: { type: string; input: unknown } }) => boolean;

/**
 * Runs one machine: `begin` makes an actor at rest, `restore` brings one to life, `step` sends it an event. Effects are named
 * by `step` and never executed by XState. Actors need not be stopped: without children, timers and listeners of others they
 * are garbage once they are let go.
 */
export class Runner<Machine extends AnyStateMachine, State extends string, Effect extends { type: string }> {
  readonly #machine: AnyStateMachine;
  /** The guards that decide where it begins; null when XState has to be asked each time. */
  readonly #firstGuards: readonly Guard[] | null;
  /** Where it begins, by what these guards say: a bit for each. */
  readonly #firstStates = new Map<number, State>();
  /** What the snapshots of all actors in a state have in common. */
  readonly #resting = new Map<State, AnyMachineSnapshot>();
  /** Of the event that is being handled; `#to` is null while no transition is taken. */
  #effects: Effect[] = [];
  #to: State | null = null;

  /**
   * @param machine has no parallel states. It is not changed, a copy of it runs.
   * @param remember what the context remembers of a transition beside what the actions do: the state that it led to.
   */
  constructor(
    machine: Machine,
    remember: (
      context: ContextFrom<Machine>,
      event: EventFrom<Machine>,
      to: State,
    ) => ContextFrom<Machine> = (context) => context,
  ) {
    const own: AnyStateMachine = machine.provide({});
    this.#machine = own;
    this.#firstGuards = firstGuardsOf(own);
    // What is restored is a snapshot of this machine already. XState would find its state nodes again and walk its whole
    // context for references to actors, of which it has none: half of what an actor costs.
    own.restoreSnapshot = (snapshot) => snapshot as AnyMachineSnapshot;
    const decide = own.transition;
    const collect: AnyActorScope['actionExecutor'] = ({ type, params }) => {
      this.#effects.push({ type, ...(params as object | undefined) } as unknown as Effect);
    };
    own.transition = (before, event, scope) => {
      scope.actionExecutor = collect;
      const after = decide(before, event, scope);
      if (after === before) return after;
      this.#to = pathOf(after.value) as State;
      const context = remember(after.context, event, this.#to);
      return context === after.context ? after : { ...after, context };
    };
  }

  /**
   * Where a new actor comes to rest: the machine's own initial transition. That is taken once for each outcome of the guards
   * on its way, as nothing else can make a difference; from then on a new actor costs its context and these guards. While
   * somebody watches, it is a real actor each time, which shows its beginning. Actions on the way are not executed.
   */
  begin(input: InputFrom<Machine>, watch: Watch = {}): Resting<ContextFrom<Machine>, State> {
    const { context: contextOf } = this.#machine.config;
    if (watch.inspect !== undefined || this.#firstGuards === null || typeof contextOf !== 'function')
      return this.#begun(input, watch);
    const context = contextOf({ input });
    const args = { context, event: { type: 'xstate.init', input } };
    let outcome = 0;
    for (const guard of this.#firstGuards) outcome = outcome * 2 + (guard(args) ? 1 : 0);
    let state = this.#firstStates.get(outcome);
    if (state === undefined) {
      ({ state } = this.#begun(input, watch));
      this.#firstStates.set(outcome, state);
    }
    return { state, context };
  }

  #begun(input: InputFrom<Machine>, watch: Watch): Resting<ContextFrom<Machine>, State> {
    const actor = createActor(this.#machine, { input, ...watch });
    if (watch.inspect !== undefined) observed(actor).start();
    const { status, error, value, context } = actor.getSnapshot();
    if (status === 'error') throw error;
    return { state: pathOf(value) as State, context };
  }

  /** Bring an actor at rest to life. */
  restore({ state, context }: Resting<ContextFrom<Machine>, State>, watch: Watch = {}): LiveActor {
    let resting = this.#resting.get(state);
    if (resting === undefined) {
      resting = { ...this.#machine.resolveState({ value: stateValueOf(state), context }), context: {} };
      this.#resting.set(state, resting);
    }
    const snapshot: AnyMachineSnapshot = { ...resting, context };
    return observed(createActor(this.#machine, { snapshot, ...watch })).start();
  }

  /** The state of a live actor. */
  stateOf(actor: LiveActor): State {
    return pathOf(actor.getSnapshot().value) as State;
  }

  /**
   * Send an event to a live actor.
   * @returns null when its state does not accept the event; then nothing has changed.
   * @throws what a guard or an action threw; the actor is of no use then.
   */
  step(actor: LiveActor, event: EventFrom<Machine>): Stepped<ContextFrom<Machine>, State, Effect> | null {
    const { value } = actor.getSnapshot();
    this.#effects = [];
    this.#to = null;
    actor.send(event);
    const { status, error, context } = actor.getSnapshot();
    if (status === 'error') throw error;
    if (this.#to === null) return null;
    return { from: pathOf(value) as State, to: this.#to, context, effects: this.#effects };
  }
}

/** An error of an actor that nobody observes ends the process. */
function observed(actor: LiveActor): LiveActor {
  actor.subscribe({ error: () => {} });
  return actor;
}

/**
 * The guards of the transitions that a machine takes without an event, when they alone decide where it begins: nothing is done
 * on the way that could change their outcome. null otherwise.
 */
function firstGuardsOf({ root, implementations }: AnyStateMachine): Guard[] | null {
  const nodes = nodesBelow(root);
  const always = nodes.flatMap((node) => node.always ?? []);
  const names = [...new Set(always.flatMap(({ guard }) => (guard === undefined ? [] : [guard])))];
  const isPlain =
    nodes.every(({ entry, invoke, type }) => entry.length + invoke.length === 0 && type !== 'parallel') &&
    nodes.every((node) => node.type !== 'compound' || node.initial.actions.length === 0) &&
    always.every(({ actions }) => actions.length === 0);
  const guards = names.map((name) => (typeof name === 'string' ? implementations.guards[name] : undefined));
  // A combined guard (`or`) is a function that only XState can call.
  return isPlain && guards.every((guard) => typeof guard === 'function' && !('check' in guard))
    ? (guards as Guard[])
    : null;
}

function nodesBelow(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesBelow)];
}
