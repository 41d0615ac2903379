import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { type DirectedGraphNode, toDirectedGraph } from 'xstate/graph';
import {
  anyState,
  type ChartState,
  type ChartTransition,
  type InternalTransition,
} from '../dashboard/statechart/chart.ts';
import { implementationName } from '../lib/implementationName.ts';

/** A machine as nodes and arrows without positions. */
export interface MachineGraph {
  machine: string;
  description: string;
  /** null: its states are regions that run side by side. */
  initial: string | null;
  /** The states at the top. */
  nodes: GraphNode[];
  arrows: Arrow[];
  internal: InternalTransition[];
}

export interface GraphNode extends Omit<ChartState, 'box'> {
  /** Path of its initial child; null when it has none. */
  initial: string | null;
  nodes: GraphNode[];
}

export interface Arrow {
  from: string;
  to: string;
  transitions: ChartTransition[];
}

interface Found extends ChartTransition {
  from: string;
  /** null: an internal transition. */
  to: string | null;
}

/** Read a machine. Transitions between the same two states become one arrow. */
export function graphOf(machine: AnyStateMachine): MachineGraph {
  const graph = toDirectedGraph(machine);
  const found = allNodes(graph).flatMap(transitionsOf);
  const arrows = new Map<string, Arrow>();
  const internal: InternalTransition[] = [];
  for (const { from, to, ...transition } of found) {
    if (to === null) {
      internal.push({ state: from, ...transition });
      continue;
    }
    const key = `${from} ${to}`;
    const arrow = arrows.get(key) ?? { from, to, transitions: [] };
    arrow.transitions.push(transition);
    arrows.set(key, arrow);
  }
  const leaves = new Set(found.filter(({ to }) => to !== null).map(({ from }) => from));
  return {
    machine: machine.id,
    description: machine.root.description ?? '',
    initial: initialOf(machine.root),
    nodes: graph.children.map((child) => nodeOf(child, leaves, leaves.has(anyState))),
    arrows: [...arrows.values()],
    internal,
  };
}

function allNodes(graph: DirectedGraphNode): DirectedGraphNode[] {
  return [graph, ...graph.children.flatMap(allNodes)];
}

function nodeOf(
  { stateNode, children }: DirectedGraphNode,
  leaves: ReadonlySet<string>,
  canLeave: boolean,
): GraphNode {
  const path = pathOf(stateNode);
  const isLeft = canLeave || leaves.has(path);
  const nodes = children.map((child) => nodeOf(child, leaves, isLeft));
  return {
    path,
    name: stateNode.key,
    description: stateNode.description ?? '',
    kind: kindOf(stateNode),
    isEnd: !isLeft && nodes.length === 0,
    initial: initialOf(stateNode),
    nodes,
  };
}

function kindOf(node: AnyStateNode): ChartState['kind'] {
  if (node.type === 'parallel' || node.type === 'history') {
    throw new Error(`${node.id} is a ${node.type} state, which the pictures cannot show yet`);
  }
  if ((node.always ?? []).length > 0) return 'transient';
  return node.type;
}

function initialOf(node: AnyStateNode): string | null {
  const [target] = node.type === 'compound' ? (node.initial.target ?? []) : [];
  return target === undefined ? null : pathOf(target);
}

/** `toDirectedGraph` omits transitions without an event (XState 5.33), so those are read from the state itself. */
function transitionsOf({ stateNode, edges }: DirectedGraphNode): Found[] {
  const from = pathOf(stateNode);
  const atOnce = (stateNode.always ?? []).map((definition) => foundIn(from, null, definition));
  return [...atOnce, ...edges.map(({ transition, label }) => foundIn(from, eventOf(label.text), transition))];
}

function foundIn(from: string, event: string | null, definition: AnyTransitionDefinition): Found {
  const [target] = definition.target ?? [];
  return {
    from,
    to: target === undefined ? null : pathOf(target),
    event,
    guard: definition.guard === undefined ? null : implementationName(definition.guard),
    description: definition.description ?? null,
  };
}

/** XState names a delay `xstate.after.<delay>.<state>`. */
function eventOf(type: string): string {
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(type) ?? [];
  if (delay === undefined) return type;
  return /^\d+$/.test(delay) ? `after ${delay} ms` : `after ${delay}`;
}

/** The machine itself, whose transitions apply in every state, has the path `*`. */
function pathOf(node: AnyStateNode): string {
  return node.path.length === 0 ? anyState : node.path.join('.');
}
