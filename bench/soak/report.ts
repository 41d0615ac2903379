import { machineFacts } from '../peers/facts.ts';
import { replacePart, shown, table, targets } from '../peers/report.ts';
import type { Bench, Figure, RunOrigin } from '../support/scenario.ts';

const start = '<!-- soak: written by bench/run.ts soak; edits between these lines are lost -->';
const end = '<!-- end of soak -->';

/** What was measured in one stretch of time. */
export interface Stretch {
  /** When it ended, minutes after the load began. */
  minute: number;
  jobs: number;
  rssMiB: number;
  heapMiB: number;
  descriptors: number;
  delayP99Ms: number;
  dispatchP50Ms: number;
  dispatchP99Ms: number;
  resultP50Ms: number;
  resultP99Ms: number;
  /** The same of an echo app beside it that keeps nothing: how slow the machine itself was. */
  echoDelayP99Ms: number;
  echoP50Ms: number;
  echoP99Ms: number;
}

type Measured = Exclude<keyof Stretch, 'minute' | 'jobs'>;
type Beside = 'echoDelayP99Ms' | 'echoP50Ms' | 'echoP99Ms';

/** What must stay flat, and how it is called; latencies in units of the echo app's in the same stretch. */
export const flat: Record<Exclude<Measured, Beside>, { name: string; unit: string; beside?: Beside }> = {
  rssMiB: { name: 'memory (RSS)', unit: 'MiB' },
  heapMiB: { name: 'heap after a collection', unit: 'MiB' },
  descriptors: { name: 'open descriptors', unit: '' },
  delayP99Ms: { name: 'event loop delay p99', unit: 'ms', beside: 'echoDelayP99Ms' },
  dispatchP50Ms: { name: 'dispatch p50', unit: 'ms', beside: 'echoP50Ms' },
  dispatchP99Ms: { name: 'dispatch p99', unit: 'ms', beside: 'echoP99Ms' },
  resultP50Ms: { name: 'dispatch to result p50', unit: 'ms', beside: 'echoP50Ms' },
  resultP99Ms: { name: 'dispatch to result p99', unit: 'ms', beside: 'echoP99Ms' },
};

const columns: [Measured, { name: string; unit: string }][] = [
  ...(Object.entries(flat) as [Measured, { name: string; unit: string }][]),
  ['echoDelayP99Ms', { name: 'echo app: event loop delay p99', unit: 'ms' }],
  ['echoP50Ms', { name: 'its answer p50', unit: 'ms' }],
  ['echoP99Ms', { name: 'its answer p99', unit: 'ms' }],
];

/** One row for each stretch. */
export function stretchTable(stretches: readonly Stretch[]): string {
  const head = columns.map(([, { name, unit }]) => (unit === '' ? name : `${name}, ${unit}`));
  const rows = stretches.map((stretch) => [
    shown(stretch.minute),
    stretch.jobs.toLocaleString('en'),
    ...columns.map(([key]) => shown(stretch[key])),
  ]);
  return table([['minute', 'jobs', ...head], ...rows], true);
}

/** Write the soak's part of docs/performance.md. @param lines what is told of the run beside its tables. */
export function writeSoak(
  bench: Bench,
  origin: RunOrigin,
  measured: { figures: readonly Figure[]; stretches: readonly Stretch[]; lines: readonly string[] },
): void {
  const facts = [...machineFacts(bench, origin.loadBefore), ...measured.lines];
  const part = `Measured ${origin.date} with \`${origin.command}\`:

${facts.map((fact) => `- ${fact}`).join('\n')}

${targets(measured.figures)}

${stretchTable(measured.stretches)}`;
  replacePart(start, end, part);
}
