import { machineFacts } from '../peers/facts.ts';
import { replacePart, shown, table, targets } from '../peers/report.ts';
import type { Bench, Figure, RunOrigin } from '../support/scenario.ts';
import type { Holding } from './holdings.ts';

const start = '<!-- soak: written by bench/run.ts soak; edits between these lines are lost -->';
const end = '<!-- end of soak -->';

/** What was measured in one stretch of time; what was held, after the last archiving before its end. */
export interface Stretch extends Holding {
  /** When it ended, minutes after the load began. */
  minute: number;
  jobs: number;
  rssMiB: number;
  delayP99Ms: number;
  dispatchP50Ms: number;
  dispatchP99Ms: number;
  resultP50Ms: number;
  resultP99Ms: number;
}

type Measured = Exclude<keyof Stretch, 'minute' | 'jobs' | 'heldJobs'>;

/** What must stay flat, and how it is called. */
export const flat: Record<Measured, { name: string; unit: string }> = {
  rssMiB: { name: 'memory (RSS)', unit: 'MiB' },
  heapMiB: { name: 'heap after archiving and a collection', unit: 'MiB' },
  descriptors: { name: 'open descriptors', unit: '' },
  delayP99Ms: { name: 'event loop delay p99', unit: 'ms' },
  dispatchP50Ms: { name: 'dispatch p50', unit: 'ms' },
  dispatchP99Ms: { name: 'dispatch p99', unit: 'ms' },
  resultP50Ms: { name: 'dispatch to result p50', unit: 'ms' },
  resultP99Ms: { name: 'dispatch to result p99', unit: 'ms' },
};

/** One row for each stretch. */
export function stretchTable(stretches: readonly Stretch[]): string {
  const columns = Object.entries(flat) as [Measured, { name: string; unit: string }][];
  const head = columns.map(([, { name, unit }]) => (unit === '' ? name : `${name}, ${unit}`));
  const rows = stretches.map((stretch) => [
    shown(stretch.minute),
    stretch.jobs.toLocaleString('en'),
    stretch.heldJobs.toLocaleString('en'),
    ...columns.map(([key]) => shown(stretch[key])),
  ]);
  return table([['minute', 'jobs', 'jobs held', ...head], ...rows], true);
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
