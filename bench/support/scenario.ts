import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What a figure has to hold. */
export interface Target {
  /** Which of the two is compared: absolute values are for what users feel (a restart, a stall). */
  of: 'ratio' | 'value';
  is: 'at least' | 'at most';
  bound: number;
}

/** One line of the report. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** Against what was measured beside it, on the same machine in the same run; null when it has no peer. */
  ratio: number | null;
  /** What the ratio is against; empty when there is none. */
  against: string;
  /** null: it is only reported. */
  target: Target | null;
  /** Where it stands in the comparison with the peers. */
  place?: { measure: Measure; contender: string };
}

/** What the peers are compared by, in the order of the tables. */
export const measures = [
  'dispatch',
  'dispatch p50',
  'dispatch p99',
  'processor time per dispatch',
  'drain',
  'drain, best concurrency',
  'end to end',
  'pick-up p50',
  'pick-up p99',
  'memory per 1,000 pending',
  'disk per 1,000 pending',
  'restart',
  'restart, empty',
  'growth',
  'memory per 1,000 of a million pending',
  'disk per 1,000 of a million pending',
  'restart with a million pending',
  'growth to a million',
] as const;
export type Measure = (typeof measures)[number];

/** How a run was made. */
export interface RunOrigin {
  date: string;
  command: string;
  /** Load average before it began. */
  loadBefore: number;
}

/** What a scenario is given. */
export interface Bench {
  /** Small sizes: shows that everything works, proves nothing. */
  quick: boolean;
  /** As few rounds as show anything, at full sizes: for a machine that never gets quiet. */
  brief: boolean;
  /** Also with 1,000,000 pending jobs where the peers are compared. */
  large: boolean;
  /** Folder for CPU profiles of the processes under test; null for none. */
  profileFolder: string | null;
  /** How long soak takes, minutes; null: as long as it usually does. */
  minutes: number | null;
  /** How long siege takes, seconds; null: as long as it usually does. */
  seconds: number | null;
  /** The attacks that siege makes; null: all of them. */
  only: readonly string[] | null;
  /** What the row of siege is called in the docs. */
  label: string | null;
  /** How the run was made, when its figures are to be written into the docs; null when not. */
  report: RunOrigin | null;
  say(message: string): void;
  /** Done when the scenario has ended, however it ended; the last one first. */
  defer(task: () => void | Promise<void>): void;
}

export interface Scenario {
  name: string;
  /** One line for `--help`. */
  about: string;
  /** Only run when it is named: it needs more than this project's packages. */
  isOptional?: true;
  run(bench: Bench): Promise<Figure[]>;
}

/** Whether the figure holds its target; null when it has none. */
export function passes({ value, ratio, target }: Figure): boolean | null {
  if (target === null) return null;
  const measured = target.of === 'value' ? value : (ratio ?? Number.NaN);
  return target.is === 'at least' ? measured >= target.bound : measured <= target.bound;
}

/** A figure without a target. */
export function figureOf(name: string, value: number, unit: string): Figure {
  return { name, value, unit, ratio: null, against: '', target: null };
}

/** One measure with processes of its own, gone when it ends. */
export async function alone<T>(bench: Bench, measure: (inner: Bench) => Promise<T>): Promise<T> {
  const tasks: (() => void | Promise<void>)[] = [];
  try {
    return await measure({ ...bench, defer: (task) => void tasks.push(task) });
  } finally {
    for (const task of tasks.reverse()) await task();
  }
}

/** On the disk of the project: where /tmp is memory, an fsync there costs nothing and proves nothing. */
const temporary = join(import.meta.dirname, '../.tmp');

/** A new folder, gone when the scenario has ended. */
export function temporaryFolder(bench: Bench): string {
  mkdirSync(temporary, { recursive: true });
  const folder = mkdtempSync(join(temporary, 'run-'));
  bench.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
