/** One bar of a panel. */
export interface Bar {
  label: string;
  value: number;
  /** As it is written beside the bar. */
  text: string;
  isOurs: boolean;
}

export interface Panel {
  title: string;
  bars: readonly Bar[];
}

const width = 860;
const columns = 2;
const gap = 28;
const margin = 20;
const labelWidth = 150;
const textWidth = 86;
const rowHeight = 20;
const titleHeight = 34;

/** Readable on light and on dark pages: the colours follow what the reader's system asks for. */
const style = `text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:13px}
.other{fill:#8c959f}.ours{fill:#0969da}.page{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.other{fill:#6e7681}.ours{fill:#4493f8}.page{fill:#0d1117}}`;

/** Panels of bars, each on a scale of its own from 0 to its longest. */
export function barsSvg(title: string, panels: readonly Panel[]): string {
  const panelWidth = (width - 2 * margin - gap * (columns - 1)) / columns;
  const rows = Math.ceil(panels.length / columns);
  const heights = Array.from({ length: rows }, (_, row) =>
    Math.max(...panels.slice(row * columns, (row + 1) * columns).map(heightOf)),
  );
  const parts = panels.map((panel, index) => {
    const row = Math.floor(index / columns);
    const x = margin + (index % columns) * (panelWidth + gap);
    const y = margin + heights.slice(0, row).reduce((sum, height) => sum + height, 0);
    return `<g transform="translate(${round(x)} ${round(y)})">${drawn(panel, panelWidth)}</g>`;
  });
  const height = 2 * margin + heights.reduce((sum, one) => sum + one, 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>${style}</style>
<rect class="page" width="${width}" height="${height}"/>
${parts.join('\n')}
</svg>
`;
}

function heightOf({ bars }: Panel): number {
  return titleHeight + bars.length * rowHeight + gap / 2;
}

function drawn({ title, bars }: Panel, panelWidth: number): string {
  const longest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const room = panelWidth - labelWidth - textWidth;
  const rows = bars.map(({ label, value, text, isOurs }, index) => {
    const y = titleHeight + index * rowHeight;
    const length = Math.max(1, (value / longest) * room);
    const bar = `<rect class="${isOurs ? 'ours' : 'other'}" x="${labelWidth}" y="${y - 11}" width="${round(length)}" height="13" rx="2"/>`;
    return `<text x="${labelWidth - 8}" y="${y}" text-anchor="end">${escaped(label)}</text>${bar}<text x="${round(labelWidth + length + 6)}" y="${y}">${escaped(text)}</text>`;
  });
  return `<text class="title" x="0" y="12">${escaped(title)}</text>${rows.join('')}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
