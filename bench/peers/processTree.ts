import { readdirSync, readFileSync } from 'node:fs';

/** Of /proc/<pid>/stat: clock ticks of 10 ms, whatever the kernel's own are (proc(5), USER_HZ). */
const tickMs = 10;

/** A process and all that it has started, by id. Linux only, as are the servers' packages. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? statOf(pid) : null;
    if (stat !== null) children.set(stat.parent, [...(children.get(stat.parent) ?? []), pid]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** Processor time that a process and its children have used so far, those that have ended included, ms. */
export function cpuMsOf(root: number): number {
  return treeOf(root).reduce((sum, pid) => sum + (statOf(pid)?.cpuMs ?? 0), 0);
}

/** Memory of a process and its children; pages that they share count once. */
export function memoryOf(root: number): number {
  let kibibytes = 0;
  for (const pid of treeOf(root)) {
    const pss = /^Pss:\s+(\d+) kB/m.exec(readOr(`/proc/${pid}/smaps_rollup`));
    kibibytes += Number(pss?.[1] ?? 0);
  }
  return kibibytes * 1024;
}

/** The most memory that a process has had resident so far. */
export function peakMemoryOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? Number.NaN) * 1024;
}

function statOf(pid: number): { parent: number; cpuMs: number } | null {
  const text = readOr(`/proc/${pid}/stat`);
  // The name in parentheses may hold anything, spaces and parentheses too; the fields after it are numbers.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (text === '') return null;
  const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
  return { parent: Number(fields[1]), cpuMs: ticks * tickMs };
}

/** A process may have ended since it was listed. */
function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
