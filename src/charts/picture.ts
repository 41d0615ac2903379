import { anyState, type Chart, type ChartEdge, type ChartState } from '../dashboard/statechart/chart.ts';
import { arrowHead, inset, labelPlaces, linePath, namePlace } from '../dashboard/statechart/geometry.ts';
import { cornerRadius, labelSize, markRadius, nameSize } from '../dashboard/statechart/measures.ts';

/** Every picture has its own background, so that it is readable on any page. */
interface Palette {
  ground: string;
  box: string;
  inner: string;
  border: string;
  name: string;
  line: string;
  label: string;
}

export const palettes = {
  light: {
    ground: '#ffffff',
    box: '#f6f8fa',
    inner: '#ffffff',
    border: '#7d8590',
    name: '#1f2328',
    line: '#59636e',
    label: '#3d444d',
  },
  dark: {
    ground: '#0d1117',
    box: '#151b23',
    inner: '#212830',
    border: '#9198a1',
    name: '#f0f6fc',
    line: '#9198a1',
    label: '#d1d7e0',
  },
} as const satisfies Record<string, Palette>;

/** A machine as an SVG file for the docs. */
export function pictureOf(chart: Chart, colours: Palette): string {
  const { width, height, states, edges } = chart;
  const title = `States of the ${chart.machine} machine`;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" text-anchor="middle">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" rx="${cornerRadius}" fill="${colours.ground}"/>`,
    ...states.map((state) => boxOf(state, colours)),
    ...edges.map((edge) => arrowOf(edge, colours)),
    ...states.map((state) => nameOf(state, colours)),
    ...edges.flatMap((edge) => labelOf(edge, colours)),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function boxOf(state: ChartState, { box, inner, border }: Palette): string {
  const fill = state.kind === 'compound' ? box : inner;
  const dashes = state.kind === 'transient' || state.path === anyState ? ' stroke-dasharray="4 3"' : '';
  const outer = rectangle(state.box, `rx="${cornerRadius}" fill="${fill}" stroke="${border}"${dashes}`);
  if (!state.isEnd) return outer;
  return outer + rectangle(inset(state.box, 3), `rx="${cornerRadius - 3}" fill="none" stroke="${border}"`);
}

function rectangle({ x, y, width, height }: ChartState['box'], rest: string): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" ${rest}/>`;
}

function arrowOf({ from, points }: ChartEdge, { line }: Palette): string {
  const [start] = points;
  const mark =
    from === null && start !== undefined
      ? `<circle cx="${start[0]}" cy="${start[1] - markRadius}" r="${markRadius}" fill="${line}"/>`
      : '';
  return `${mark}<path d="${linePath(points)}" fill="none" stroke="${line}"/><polygon points="${arrowHead(points)}" fill="${line}"/>`;
}

function nameOf(state: ChartState, { name, box }: Palette): string {
  const { x, y } = namePlace(state, false);
  // A line may cross the title of a compound state.
  const isTitle = state.kind === 'compound';
  const more = isTitle ? ` text-anchor="start" stroke="${box}" stroke-width="4" paint-order="stroke"` : '';
  return `<text x="${x}" y="${y}" font-size="${nameSize}" font-weight="600" fill="${name}"${more}>${escaped(state.name)}</text>`;
}

function labelOf(edge: ChartEdge, { label, ground }: Palette): string[] {
  return labelPlaces(edge).map(
    ({ x, y }, index) =>
      `<text x="${x}" y="${y}" font-size="${labelSize}" fill="${label}" stroke="${ground}" stroke-width="3" paint-order="stroke">${escaped(edge.lines[index]?.text ?? '')}</text>`,
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
