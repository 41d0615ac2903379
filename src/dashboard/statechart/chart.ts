/**
 * A machine as a picture: where its states and transitions stand. Made by `npm run charts` from the machines themselves,
 * so that a page needs no layout engine. Lengths are CSS pixels at the picture's own size.
 */
export interface Chart {
  machine: string;
  description: string;
  /** Path of the state an actor begins in; null for a machine of regions, in all of which it begins. */
  initial: string | null;
  width: number;
  height: number;
  /** A state before those inside of it. */
  states: ChartState[];
  edges: ChartEdge[];
  /** Transitions that leave the state as it is: not drawn, told in the table. */
  internal: InternalTransition[];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface ChartState {
  /** `pending.ready`. */
  path: string;
  /** Its last part, as the box shows it. */
  name: string;
  description: string;
  kind: 'atomic' | 'compound' | 'transient' | 'final';
  /** Whether nothing leads out of it. */
  isEnd: boolean;
  box: Box;
}

/** A point of a line, x and y. */
export type Point = [number, number];

export interface ChartTransition {
  /** null: at once, without an event. */
  event: string | null;
  /** Name of what must hold; null when nothing must. */
  guard: string | null;
  description: string | null;
}

/** All transitions from one state to another: one arrow, a line of text or two each. */
export interface ChartEdge {
  /** Path of the state it leaves; `*` for every state; null for the mark of an initial state. */
  from: string | null;
  to: string;
  /** Corners of the line; it ends with the arrow's tip. */
  points: Point[];
  label: Box | null;
  lines: LabelLine[];
  transitions: ChartTransition[];
}

export interface LabelLine {
  text: string;
  /** Which of the edge's transitions the line is of; a line with the event of several is of all of them. */
  of: number[];
}

export interface InternalTransition extends ChartTransition {
  /** Path of the state; `*` for every state. */
  state: string;
}

/** Stands for every state of a machine, where a transition leaves them all. */
export const anyState = '*';
