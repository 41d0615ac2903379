import elk, { type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import {
  anyState,
  type Box,
  type Chart,
  type ChartEdge,
  type ChartState,
  type ChartTransition,
  type LabelLine,
  type Point,
} from '../dashboard/statechart/chart.ts';
import {
  boxPadding,
  labelLineHeight,
  labelSize,
  markRadius,
  nameSize,
  stateHeight,
  titleHeight,
} from '../dashboard/statechart/measures.ts';
import type { Arrow, GraphNode, MachineGraph } from './machineGraph.ts';
import { textWidth } from './textWidth.ts';

/** A state has room below its name for the page's text: `12,345 now`, `3 times, 12 min`. */
const stateWidthMin = 116;

const options = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.randomSeed': '1',
  'elk.json.shapeCoords': 'ROOT',
  'elk.json.edgeCoords': 'ROOT',
  'elk.padding': '[top=8,left=8,bottom=8,right=8]',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.edgeNode': '12',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '4',
  'elk.spacing.labelNode': '6',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '12',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '10',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF',
  'elk.layered.nodePlacement.bk.fixedAlignment': 'BALANCED',
} as const;

/** Place every state and arrow. The same machine gets the same picture, everywhere and every time. */
export async function layOut(graph: MachineGraph): Promise<Chart> {
  const arrows = [...graph.arrows, ...initialArrows(graph)];
  const order = new Map(
    [anyState, ...flat(graph.nodes).map(({ path }) => path)].map((path, place) => [path, place]),
  );
  const picture: ElkNode = {
    id: 'picture',
    layoutOptions: options,
    children: [
      ...(graph.arrows.some(({ from }) => from === anyState) ? [anyNode()] : []),
      ...(graph.initial === null ? [] : [markOf(anyState)]),
      ...graph.nodes.map(elkNode),
    ],
    edges: arrows.map((arrow, index) => elkEdge(arrow, index, isForward(arrow, order))),
  };
  const placed = await new elk.default().layout(picture);
  const nodes = new Map(below(placed).map((node) => [node.id, node]));
  const edges = new Map((placed.edges ?? []).map((edge) => [edge.id, edge]));
  const any = nodes.get(anyState);
  return {
    machine: graph.machine,
    description: graph.description,
    initial: graph.initial,
    width: Math.ceil(placed.width ?? 0),
    height: Math.ceil(placed.height ?? 0),
    states: [
      ...(any === undefined ? [] : [anyChartState(boxOf(any))]),
      ...flat(graph.nodes).map((node) => chartState(node, boxOf(nodes.get(node.path)))),
    ],
    edges: arrows.map((arrow, index) => chartEdge(arrow, edges.get(`edge ${index}`))),
    internal: graph.internal,
  };
}

/** An arrow of the picture: a transition, or the mark of an initial state. */
type Drawn = Omit<Arrow, 'from'> & { from: string | null; mark?: string };

function initialArrows(graph: MachineGraph): Drawn[] {
  const inside = flat(graph.nodes).flatMap(({ path, initial }) =>
    initial === null ? [] : [{ from: null, mark: markId(path), to: initial, transitions: [] }],
  );
  if (graph.initial === null) return inside;
  return [{ from: null, mark: markId(anyState), to: graph.initial, transitions: [] }, ...inside];
}

function markId(path: string): string {
  return `mark ${path}`;
}

function markOf(path: string): ElkNode {
  return { id: markId(path), width: 2 * markRadius, height: 2 * markRadius };
}

function anyNode(): ElkNode {
  return { id: anyState, width: textWidth(anyName, nameSize) + 2 * boxPadding, height: titleHeight };
}

const anyName = 'any state';

function anyChartState(box: Box): ChartState {
  const description = 'Any state: its transitions apply in every state.';
  return { path: anyState, name: anyName, description, kind: 'atomic', isEnd: false, box };
}

function elkNode(node: GraphNode): ElkNode {
  const width = Math.max(stateWidthMin, textWidth(node.name, nameSize) + 2 * boxPadding);
  if (node.initial === null) return { id: node.path, width, height: stateHeight };
  const top = titleHeight + boxPadding;
  return {
    id: node.path,
    layoutOptions: {
      'elk.padding': `[top=${top},left=${boxPadding},bottom=${boxPadding},right=${boxPadding}]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width}, ${stateHeight})`,
    },
    children: [markOf(node.path), ...node.nodes.map(elkNode)],
  };
}

/** Whether it leads to a state that the machine names later: such arrows point down, the others up. */
function isForward({ from, to }: Drawn, order: ReadonlyMap<string, number>): boolean {
  return from === null || (order.get(from) ?? 0) < (order.get(to) ?? 0);
}

function elkEdge(arrow: Drawn, index: number, isDown: boolean): ElkExtendedEdge {
  const lines = labelLines(arrow.transitions);
  const labels =
    lines.length === 0 ? [] : [{ text: lines.map(({ text }) => text).join('\n'), ...sizeOf(lines) }];
  return {
    id: `edge ${index}`,
    sources: [arrow.mark ?? arrow.from ?? ''],
    targets: [arrow.to],
    labels,
    layoutOptions: { 'elk.layered.priority.direction': isDown ? '10' : '0' },
  };
}

function sizeOf(lines: readonly LabelLine[]): { width: number; height: number } {
  return {
    width: Math.max(...lines.map(({ text }) => textWidth(text, labelSize))) + 4,
    height: lines.length * labelLineHeight,
  };
}

/** The labels of an arrow: each event once, its guards below it. */
function labelLines(transitions: readonly ChartTransition[]): LabelLine[] {
  const byEvent = new Map<string | null, number[]>();
  for (const [index, { event }] of transitions.entries()) {
    byEvent.set(event, [...(byEvent.get(event) ?? []), index]);
  }
  return [...byEvent].flatMap(([event, of]) => {
    const title: LabelLine[] = event === null ? [] : [{ text: event, of }];
    const guards = of.flatMap((index) => {
      const guard = transitions[index]?.guard;
      return guard == null ? [] : [{ text: `[${guard}]`, of: [index] }];
    });
    return [...title, ...guards];
  });
}

function chartState(node: GraphNode, box: Box): ChartState {
  const { path, name, description, kind, isEnd } = node;
  return { path, name, description, kind, isEnd, box };
}

function chartEdge(arrow: Drawn, edge: ElkExtendedEdge | undefined): ChartEdge {
  const [section] = edge?.sections ?? [];
  if (section === undefined) throw new Error(`the arrow to ${arrow.to} got no place`);
  const { startPoint, bendPoints = [], endPoint } = section;
  const [label] = edge?.labels ?? [];
  return {
    from: arrow.from,
    to: arrow.to,
    points: [startPoint, ...bendPoints, endPoint].map(({ x, y }): Point => [rounded(x), rounded(y)]),
    label: label === undefined ? null : boxOf(label),
    lines: labelLines(arrow.transitions),
    transitions: arrow.transitions,
  };
}

function boxOf(placed: Partial<Box> | undefined): Box {
  const { x, y, width, height } = placed ?? {};
  if (x === undefined || y === undefined || width === undefined || height === undefined) {
    throw new Error('a part of the picture got no place');
  }
  return { x: rounded(x), y: rounded(y), width: rounded(width), height: rounded(height) };
}

/** Half a pixel is precise enough, and keeps rounding noise out of the files. */
function rounded(length: number): number {
  return Math.round(length * 2) / 2;
}

function below({ children = [] }: ElkNode): ElkNode[] {
  return children.flatMap((child) => [child, ...below(child)]);
}

function flat(nodes: readonly GraphNode[]): GraphNode[] {
  return nodes.flatMap((node) => [node, ...flat(node.nodes)]);
}
