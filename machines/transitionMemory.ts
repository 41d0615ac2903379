import {
  type AnyEventObject,
  type AnyStateMachine,
  type AnyStateNode,
  assign,
  type MachineContext,
} from 'xstate';

/** A guard that is a function of the machine, as one can call it. */
export type Guard = (args: { context: unknown; event: { type: string; input?: unknown } }) => boolean;

/** What the actions of a transition did, in order: new values for the context, or an effect with its parameters. */
type Done = { assignment: Assignment } | { effect: Effect };
type Assignment = (args: { context: MachineContext; event: AnyEventObject }) => object;
interface Effect {
  type: string;
  params: unknown;
}

/** What XState did in one case. */
interface Course {
  done: readonly Done[];
  /** Where it came to rest, by what the guards of transitions without an event say of the new context. */
  ends: Map<number, string>;
}

/** An event in a state: the guards that decide on it, and what XState did, by what they say. null: it does not accept it. */
interface Cases {
  guards: readonly Guard[];
  courses: Map<number, Course | null>;
}

/** A transition as it is remembered. */
export interface Recalled {
  to: string;
  context: MachineContext;
  effects: readonly Effect[];
}

/** Guards that decide together; more outcomes than their bits can tell apart are not remembered. */
const guardsMax = 30;

/**
 * What XState does with an event follows from the state, the type of the event and what the guards say; values only pass
 * through the machine's own functions. So XState decides each such case once, and what it did is done again the next time: the
 * same guards are asked and the same assignments called, without XState's search for the transition, which costs 10 µs and
 * 15 KB of garbage an event. Of the machine of jobs there are some forty cases.
 */
export class TransitionMemory {
  /** The machine, whose assignments are noted as they are made. */
  readonly machine: AnyStateMachine;
  readonly #always: readonly Guard[];
  readonly #cases = new Map<string, Map<string, Cases>>();
  /** What was done since `begin`. */
  #done: Done[] = [];

  private constructor(machine: AnyStateMachine, always: readonly Guard[]) {
    const { actions } = machine.implementations;
    const noted = Object.entries(actions).map(([name, action]) =>
      isAssign(action) ? ([name, this.#noted(action.assignment)] as const) : ([name, action] as const),
    );
    this.machine = machine.provide({ actions: Object.fromEntries(noted) });
    this.#always = always;
  }

  /**
   * @returns null for a machine in which something else can make a difference: parallel or final states, actions of states,
   * invoked actors, actions and guards without a name, parameters that are functions, events by wildcard.
   */
  static of(machine: AnyStateMachine): TransitionMemory | null {
    const always = alwaysGuards(machine);
    return always !== null && isRegular(machine) ? new TransitionMemory(machine, always) : null;
  }

  /**
   * Do what XState did in the same case before.
   * @returns null when the state does not accept the event; undefined when XState has not decided this case yet.
   * @throws what a guard or an assignment throws.
   */
  recall(state: string, context: MachineContext, event: AnyEventObject): Recalled | null | undefined {
    const { guards, courses } = this.#casesOf(state, event.type);
    const course = courses.get(outcomeOf(guards, context, event));
    if (course === undefined || course === null) return course;
    let now = context;
    const effects: Effect[] = [];
    for (const done of course.done) {
      if ('effect' in done) effects.push(done.effect);
      else now = { ...now, ...done.assignment({ context: now, event }) };
    }
    const to = course.ends.get(outcomeOf(this.#always, now, event));
    return to === undefined ? undefined : { to, context: now, effects };
  }

  /** XState is about to decide. */
  begin(): void {
    this.#done = [];
  }

  /** XState has executed an action that is no assignment. */
  note(effect: Effect): void {
    this.#done.push({ effect });
  }

  /**
   * XState has decided.
   * @param before the context before. @param end where it led and the context then; null when the event was not accepted.
   */
  learn(
    state: string,
    before: MachineContext,
    event: AnyEventObject,
    end: { to: string; context: MachineContext } | null,
  ): void {
    const { guards, courses } = this.#casesOf(state, event.type);
    if (guards.length > guardsMax) return;
    const outcome = outcomeOf(guards, before, event);
    if (end === null) {
      courses.set(outcome, null);
      return;
    }
    const course = courses.get(outcome) ?? { done: this.#done, ends: new Map() };
    course.ends.set(outcomeOf(this.#always, end.context, event), end.to);
    courses.set(outcome, course);
  }

  #casesOf(state: string, type: string): Cases {
    const ofState = this.#cases.get(state) ?? new Map<string, Cases>();
    this.#cases.set(state, ofState);
    let cases = ofState.get(type);
    if (cases === undefined) {
      cases = { guards: guardsOn(this.machine, state, type), courses: new Map() };
      ofState.set(type, cases);
    }
    return cases;
  }

  #noted(assignment: Assignment) {
    return assign(({ context, event }: { context: MachineContext; event: AnyEventObject }) => {
      this.#done.push({ assignment });
      return assignment({ context, event });
    });
  }
}

/**
 * The guards of the transitions that a machine takes without an event, when nothing is done on the way that could change
 * their outcome. null otherwise.
 */
export function alwaysGuards(machine: AnyStateMachine): readonly Guard[] | null {
  const nodes = nodesBelow(machine.root);
  const always = nodes.flatMap((node) => node.always ?? []);
  const isPlain =
    nodes.every(({ entry, invoke, type }) => entry.length + invoke.length === 0 && type !== 'parallel') &&
    nodes.every((node) => node.type !== 'compound' || node.initial.actions.length === 0) &&
    always.every(({ actions }) => actions.length === 0);
  return isPlain ? named(machine, always) : null;
}

/** Whether what a transition does can be told from its actions. */
function isRegular({ root, implementations }: AnyStateMachine): boolean {
  const nodes = nodesBelow(root);
  const transitions = nodes.flatMap((node) => [...node.transitions.values()].flat());
  const actions = transitions.flatMap((transition) => transition.actions);
  return (
    nodes.every(({ exit, type }) => exit.length === 0 && type !== 'final' && type !== 'history') &&
    transitions.every(
      ({ eventType, guard }) => !eventType.includes('*') && isNamed(guard, implementations.guards),
    ) &&
    actions.every((action) => hasFixedParams(action) && isNamed(typeOf(action), implementations.actions)) &&
    Object.values(implementations.actions).every((action) => isAssign(action) || !isBuiltIn(action))
  );
}

/** The guards of the transitions on an event, in a state and the states around it. */
function guardsOn(machine: AnyStateMachine, state: string, type: string): readonly Guard[] {
  let node: AnyStateNode | undefined = machine.root;
  const transitions = [...(node.transitions.get(type) ?? [])];
  for (const key of state.split('.')) {
    node = node?.states[key];
    transitions.push(...(node?.transitions.get(type) ?? []));
  }
  return named(machine, transitions) ?? [];
}

/** The guards of transitions, each once; null when one of them has no name, or combines others, which only XState can. */
function named(
  { implementations }: AnyStateMachine,
  transitions: readonly { guard?: unknown }[],
): readonly Guard[] | null {
  const names = [...new Set(transitions.flatMap(({ guard }) => (guard === undefined ? [] : [guard])))];
  const guards = names.map((name) => (typeof name === 'string' ? implementations.guards[name] : undefined));
  return guards.every((guard) => typeof guard === 'function' && !('check' in guard))
    ? (guards as Guard[])
    : null;
}

/** What each of them says, as bits. */
export function outcomeOf(
  guards: readonly Guard[],
  context: unknown,
  event: { type: string; input?: unknown },
): number {
  let outcome = 0;
  for (const guard of guards) outcome = outcome * 2 + (guard({ context, event }) ? 1 : 0);
  return outcome;
}

function nodesBelow(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesBelow)];
}

function isNamed(given: unknown, known: object): boolean {
  if (given === undefined) return true;
  if (typeof given !== 'string' || !Object.hasOwn(known, given)) return false;
  const implementation: unknown = known[given as keyof typeof known];
  return typeof implementation === 'function' && !('check' in implementation);
}

function typeOf(action: unknown): unknown {
  return typeof action === 'object' && action !== null && 'type' in action ? action.type : action;
}

function hasFixedParams(action: unknown): boolean {
  if (typeof action !== 'object' || action === null) return typeof action === 'string';
  return !('params' in action) || typeof action.params !== 'function';
}

/** An action of XState's own: raise, sendTo, spawnChild … */
function isBuiltIn(action: unknown): boolean {
  return typeof action === 'function' && 'resolve' in action;
}

function isAssign(action: unknown): action is { assignment: Assignment } {
  return (
    typeof action === 'function' &&
    'type' in action &&
    action.type === 'xstate.assign' &&
    'assignment' in action &&
    typeof action.assignment === 'function'
  );
}
