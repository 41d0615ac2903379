import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Figure, type Measure, measures, passes } from '../support/scenario.ts';
import { barsSvg, type Panel } from './svg.ts';

/** What stands beside the figures of a run. */
export interface RunFacts {
  date: string;
  command: string;
  /** One line each: machine, versions, load. */
  facts: readonly string[];
}

const docs = join(import.meta.dirname, '../../docs');
const page = join(docs, 'performance.md');
const image = 'images/performance.svg';
const start = '<!-- measured: written by bench/run.ts peers; edits between these lines are lost -->';
const end = '<!-- end of measured -->';

/** What the plot shows, and how each is read. */
const plotted: readonly (readonly [Measure, string])[] = [
  ['dispatch', 'Dispatch, jobs/s (more is better)'],
  ['end to end', 'End to end, jobs/s (more is better)'],
  ['drain', 'Drain, jobs/s (more is better)'],
  ['pick-up p99', 'Pick-up p99 at 100 jobs/s, ms (less is better)'],
  ['processor time per dispatch', 'Processor time per dispatch, µs (less is better)'],
  ['growth', 'Cost of a job with 100 times as many pending (1 is flat)'],
  ['growth to a million', 'Cost of a job with 1,000 times as many pending (1 is flat)'],
];

/** Replace the measured part of docs/performance.md and its plot. The rest of the page is written by hand. */
export function writeReport(figures: readonly Figure[], run: RunFacts): void {
  replacePart(start, end, measuredPart(figures, run));
  writeFileSync(
    join(docs, image),
    barsSvg('SVC beside BullMQ, pg-boss and graphile-worker', panels(figures)),
  );
}

/** Replace what stands between two lines of docs/performance.md. */
export function replacePart(begin: string, close: string, part: string): void {
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(close)];
  if (from < 0 || to < from)
    throw new Error(`${page} has lost the lines that the measured part stands between`);
  writeFileSync(page, `${text.slice(0, from)}${begin}\n\n${part}\n\n${text.slice(to)}`);
}

function measuredPart(figures: readonly Figure[], { date, command, facts }: RunFacts): string {
  return `Measured ${date} with \`${command}\`:

${facts.map((fact) => `- ${fact}`).join('\n')}

![Bars: ${plottedOf(figures)
    .map(([measure]) => measure)
    .join(', ')}](${image})

${comparison(figures)}

### Targets

${targets(figures)}`;
}

function comparison(figures: readonly Figure[]): string {
  const placed = figures.flatMap(({ place, ...figure }) => (place ? [{ ...place, ...figure }] : []));
  const contenders = [...new Set(placed.map(({ contender }) => contender))];
  // The echo app comes first in the figures of dispatch, and has a column of its own only there.
  const rows = measuresOf(figures).map((measure) => {
    const cells = contenders.map((contender) => {
      const found = placed.find((figure) => figure.measure === measure && figure.contender === contender);
      if (found === undefined) return '';
      return found.ratio === null ? shown(found.value) : `${shown(found.ratio)} ×`;
    });
    const unit = placed.find((figure) => figure.measure === measure && figure.ratio === null)?.unit ?? '';
    return [unit === '' ? measure : `${measure}, ${unit}`, ...cells];
  });
  return table([['', ...contenders], ...rows], true);
}

/** Those that this run has, in the order of the tables. */
function measuresOf(figures: readonly Figure[]): Measure[] {
  return measures.filter((measure) => figures.some(({ place }) => place?.measure === measure));
}

function plottedOf(figures: readonly Figure[]): typeof plotted {
  const measured = measuresOf(figures);
  return plotted.filter(([measure]) => measured.includes(measure));
}

/** The figures that have a target, as a table. */
export function targets(figures: readonly Figure[]): string {
  const rows = figures.flatMap((figure) => {
    const passed = passes(figure);
    if (passed === null || figure.target === null) return [];
    const { of, is, bound } = figure.target;
    const ratio = figure.ratio === null ? '' : `${shown(figure.ratio)} × ${figure.against}`;
    const measured = `${shown(figure.value)} ${figure.unit}`;
    return [[figure.name.trim(), measured, ratio, `${of} ${is} ${bound}`, passed ? 'pass' : '**FAIL**']];
  });
  return table([['', 'measured', 'against', 'target', ''], ...rows], false);
}

/** @param isNumbers all columns but the first are. */
export function table([head = [], ...rows]: readonly (readonly string[])[], isNumbers: boolean): string {
  const rule = head.map((_, column) => (isNumbers && column > 0 ? '--:' : '---'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function panels(figures: readonly Figure[]): Panel[] {
  return plottedOf(figures).map(([measure, title]) => ({
    title,
    bars: figures
      .filter(({ place }) => place?.measure === measure)
      .map(({ place, value, ratio }) => ({
        label: place?.contender ?? '',
        value: ratio ?? value,
        text: shown(ratio ?? value),
        isOurs: place?.contender === 'SVC',
      })),
  }));
}

/** Three figures are as many as a noisy machine is good for. */
export function shown(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
