/**
 * A machine as a picture: the positions of its states and transitions. Made by `npm run charts` from the machines
 * themselves, so that a page needs no layout engine. Lengths are CSS pixels at the picture's own size.
 */
export interface Chart {
  machine: string;
  description: string;
  /** Path of the initial state of an actor; null for a machine with parallel regions, all of which it starts in. */
  initial: string | null;
  width: number;
  height: number;
  /** Parents before their children. */
  states: ChartState[];
  edges: ChartEdge[];
  /** Internal transitions: not drawn, listed in the table. */
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
  /** Its last part, as shown in the box. */
  name: string;
  description: string;
  kind: 'atomic' | 'compound' | 'transient' | 'final';
  /** Whether no transition leaves it. */
  isEnd: boolean;
  box: Box;
}

/** A point of a line, x and y. */
export type Point = [number, number];

export interface ChartTransition {
  /** null: at once, without an event. */
  event: string | null;
  /** Name of the guard; null for none. */
  guard: string | null;
  description: string | null;
}

/** All transitions from one state to another: one arrow, with a line or two of text each. */
export interface ChartEdge {
  /** Path of the source state; `*` for every state; null for the mark of an initial state. */
  from: string | null;
  to: string;
  /** Corners of the line; it ends at the arrow's tip. */
  points: Point[];
  label: Box | null;
  lines: LabelLine[];
  transitions: ChartTransition[];
}

export interface LabelLine {
  text: string;
  /** The transitions of the edge that the line describes; a line with a shared event describes several. */
  of: number[];
}

export interface InternalTransition extends ChartTransition {
  /** Path of the state; `*` for every state. */
  state: string;
}

/** Represents every state of a machine, for transitions that leave them all. */
export const anyState = '*';
