import {
  type Actor,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type ContextFrom,
  createActor,
  type EventFrom,
  type InputFrom,
  type InspectionEvent,
} from 'xstate';
import { pathOf, stateValueOf } from './statePath.ts';
import { alwaysGuards, type Guard, outcomeOf, TransitionMemory } from './transitionMemory.ts';

/*
 * All that we do to XState for speed. A job at rest is its state and its context in the store; it becomes an actor for the
 * moment of an event, thousands of times a second. What that costs in turns on one thread, in µs, for a job with three
 * attempts (Node 26, XState 5.33.3, one run on a slow machine):
 *
 *     a new job                                an event of a job at rest
 *     `initialTransition`        49            `transition`                                42
 *     `createActor`              18            `createActor` with a snapshot, `send`       23
 *     `Runner.begin`              0.1          `Runner.restore` 2.1, `Runner.step` 1.7      3.8
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
  /** What XState has decided; null when that cannot be remembered. */
  readonly #memory: TransitionMemory | null;
  readonly #remember: (
    context: ContextFrom<Machine>,
    event: EventFrom<Machine>,
    to: State,
  ) => ContextFrom<Machine>;
  readonly #watched = new WeakSet<object>();
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
    this.#memory = TransitionMemory.of(machine);
    const own: AnyStateMachine = this.#memory?.machine ?? machine.provide({});
    this.#machine = own;
    this.#remember = remember;
    this.#firstGuards = alwaysGuards(own);
    // What is restored is a snapshot of this machine already. XState would find its state nodes again and walk its whole
    // context for references to actors, of which it has none: half of what an actor costs.
    own.restoreSnapshot = (snapshot) => snapshot as AnyMachineSnapshot;
    const decide = own.transition.bind(own);
    own.transition = (before, event, scope) => this.#transition(before, event, scope, decide);
  }

  /** The transition of an actor: as it is remembered, or else, and while somebody watches, as XState decides. */
  #transition(
    before: AnyMachineSnapshot,
    event: AnyEventObject,
    scope: AnyActorScope,
    decide: AnyStateMachine['transition'],
  ): AnyMachineSnapshot {
    const state = pathOf(before.value) as State;
    const recalled = this.#watched.has(scope.self)
      ? undefined
      : this.#memory?.recall(state, before.context, event);
    if (recalled === null) return before;
    if (recalled !== undefined) {
      for (const { type, params } of recalled.effects) this.#addEffect(type, params);
      return this.#after(recalled.to as State, recalled.context, event, null);
    }
    this.#memory?.begin();
    scope.actionExecutor = ({ type, params }) => {
      this.#memory?.note({ type, params });
      this.#addEffect(type, params);
    };
    const after = decide(before, event, scope);
    const to = pathOf(after.value) as State;
    const isAccepted = after !== before;
    this.#memory?.learn(state, before.context, event, isAccepted ? { to, context: after.context } : null);
    return isAccepted ? this.#after(to, after.context, event, after) : after;
  }

  #addEffect(type: string, params: unknown): void {
    this.#effects.push({ type, ...(params as object | undefined) } as unknown as Effect);
  }

  /** The snapshot after a transition. @param decided by XState; null when it was remembered. */
  #after(
    to: State,
    assigned: AnyMachineSnapshot['context'],
    event: AnyEventObject,
    decided: AnyMachineSnapshot | null,
  ): AnyMachineSnapshot {
    this.#to = to;
    const context = this.#remember(assigned as ContextFrom<Machine>, event as EventFrom<Machine>, to);
    if (decided === null) return this.#snapshot(to, context);
    return context === assigned ? decided : { ...decided, context };
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
    const outcome = outcomeOf(this.#firstGuards, context, { type: 'xstate.init', input });
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
    const actor = createActor(this.#machine, { snapshot: this.#snapshot(state, context), ...watch });
    if (watch.inspect !== undefined) this.#watched.add(actor);
    return observed(actor).start();
  }

  /** What XState would make of a state and a context. */
  #snapshot(state: State, context: ContextFrom<Machine>): AnyMachineSnapshot {
    let resting = this.#resting.get(state);
    if (resting === undefined) {
      resting = { ...this.#machine.resolveState({ value: stateValueOf(state), context }), context: {} };
      this.#resting.set(state, resting);
    }
    return { ...resting, context };
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
