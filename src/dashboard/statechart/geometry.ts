import type { Box, ChartEdge, ChartState, Point } from './chart.ts';
import { arrowLength, cornerRadius, labelLineHeight, labelSize, nameSize, titleHeight } from './measures.ts';

/** From the side of a compound state to its title. */
const titleMargin = 12;
/** Half the width of an arrow's head. */
const arrowSpread = 3.5;
/** From the middle of a line of text to its baseline, as a share of the font size. */
const baseline = 0.35;
/** From the middle of a state's box up to the middle of its name, and down to its figures. */
const lineOffset = 9;

/** The line of an arrow as SVG path data, with round corners; it ends where the arrow's head starts. */
export function linePath(points: readonly Point[]): string {
  const shortened = [...points.slice(0, -1), beforeHead(points)];
  const parts = shortened.map((point, index) => {
    const before = shortened[index - 1];
    const after = shortened[index + 1];
    if (before === undefined) return `M${text(point)}`;
    if (after === undefined) return `L${text(point)}`;
    const radius = Math.min(cornerRadius, distance(before, point) / 2, distance(point, after) / 2);
    return `L${text(towards(point, before, radius))}Q${text(point)} ${text(towards(point, after, radius))}`;
  });
  return parts.join('');
}

/** The head of an arrow as the points of an SVG polygon. */
export function arrowHead(points: readonly Point[]): string {
  const [x, y] = end(points);
  const [backX, backY] = beforeHead(points);
  const share = arrowSpread / arrowLength;
  const acrossX = (y - backY) * share;
  const acrossY = (backX - x) * share;
  return [
    text([x, y]),
    text([backX + acrossX, backY + acrossY]),
    text([backX - acrossX, backY - acrossY]),
  ].join(' ');
}

/**
 * The position of a state's name, on the baseline: the middle of its line, for a compound state its start.
 * @param hasFigures whether there are figures below it.
 */
export function namePlace({ box, kind }: ChartState, hasFigures: boolean): { x: number; y: number } {
  const foot = nameSize * baseline;
  if (kind === 'compound') return { x: box.x + titleMargin, y: box.y + titleHeight / 2 + foot };
  return { x: middle(box), y: box.y + box.height / 2 + foot - (hasFigures ? lineOffset : 0) };
}

/** The position of its figures: the middle of their line, for a compound state the end, at the right of its title. */
export function figuresPlace({ box, kind }: ChartState): { x: number; y: number } {
  if (kind === 'compound') {
    return { x: box.x + box.width - titleMargin, y: box.y + titleHeight / 2 + labelSize * baseline };
  }
  return { x: middle(box), y: box.y + box.height / 2 + lineOffset + labelSize * baseline };
}

/** The positions of the lines of an arrow's label, in order. */
export function labelPlaces({ label, lines }: ChartEdge): { x: number; y: number }[] {
  if (label === null) return [];
  const first = label.y + labelLineHeight / 2 + labelSize * baseline;
  return lines.map((_, index) => ({ x: middle(label), y: first + index * labelLineHeight }));
}

/** The box inside of another, `by` pixels from each side. */
export function inset({ x, y, width, height }: Box, by: number): Box {
  return { x: x + by, y: y + by, width: width - 2 * by, height: height - 2 * by };
}

function middle({ x, width }: Box): number {
  return x + width / 2;
}

function end(points: readonly Point[]): Point {
  const last = points.at(-1);
  if (last === undefined) throw new Error('a line has at least one point');
  return last;
}

function beforeHead(points: readonly Point[]): Point {
  const last = end(points);
  return towards(last, points.at(-2) ?? last, arrowLength);
}

function towards(from: Point, to: Point, by: number): Point {
  const whole = distance(from, to);
  if (whole === 0) return from;
  return [from[0] + ((to[0] - from[0]) * by) / whole, from[1] + ((to[1] - from[1]) * by) / whole];
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

function text([x, y]: Point): string {
  return `${round(x)},${round(y)}`;
}

function round(length: number): number {
  return Math.round(length * 10) / 10;
}
