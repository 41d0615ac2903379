import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shown, table } from '../peers/report.ts';
import type { RunOrigin } from '../support/scenario.ts';
import { percentile } from '../support/statistics.ts';
import type { Deaths } from './fortress.ts';
import type { Accounts, Phase } from './honest.ts';

const page = join(import.meta.dirname, '../../docs/security.md');
const start = '<!-- siege: written by bench/run.ts siege; edits between these lines are lost -->';
const end = '<!-- end of siege -->';

export interface SiegePhase extends Phase {
  /** Answers of an app that keeps nothing, in the same time: how slow the machine was. */
  echoMs: number[];
}

/** What a siege has shown. */
export interface SiegeResult {
  seconds: number;
  quiet: SiegePhase;
  under: SiegePhase;
  accounts: Accounts;
  deaths: Deaths;
  operatorMs: readonly number[];
  peakRssMiB: number;
  /** null when the process that was to measure it has died. */
  loopDelayMs: { p99: number; max: number } | null;
}

const head = [
  'code',
  'siege, s',
  'dispatch p50 / p99 before it, ms',
  'dispatch p50 / p99 / slowest in it, ms',
  'echo app p99 before / in it, ms',
  'dispatch to done p99, ms',
  'event loop delay p99 / longest, ms',
  'RSS, the most, MiB',
  'crashed / hung / took 3 heaps',
  'honest requests refused or broken',
  'honest jobs: acknowledged / lost / twice / wrong / forged',
];

/** The row of the table that this run is. */
export function siegeCells(label: string, result: SiegeResult): string[] {
  const { seconds, quiet, under, accounts, deaths, peakRssMiB, loopDelayMs } = result;
  const at = (values: readonly number[], share: number) => shown(percentile(values, share));
  const refused = Object.values(under.refusals).reduce((sum, count) => sum + count, 0);
  const { acknowledged, lost, twice, wrong, forged } = accounts;
  return [
    label,
    String(seconds),
    `${at(quiet.dispatchMs, 0.5)} / ${at(quiet.dispatchMs, 0.99)}`,
    `${at(under.dispatchMs, 0.5)} / ${at(under.dispatchMs, 0.99)} / ${at(under.dispatchMs, 1)}`,
    `${at(quiet.echoMs, 0.99)} / ${at(under.echoMs, 0.99)}`,
    at(accounts.doneMs, 0.99),
    loopDelayMs === null ? 'not known' : `${shown(loopDelayMs.p99)} / ${shown(loopDelayMs.max)}`,
    shown(peakRssMiB),
    `${deaths.crashed} / ${deaths.hung} / ${deaths.swollen}`,
    refused.toLocaleString('en'),
    [acknowledged, lost, twice, wrong, forged].map((count) => count.toLocaleString('en')).join(' / '),
  ];
}

/** The run as a table of one row. */
export function siegeTable(label: string, result: SiegeResult): string {
  return table([head, siegeCells(label, result)], true);
}

/** Write the run into docs/security.md, in place of the row with the same label; the other rows stay. */
export function writeSiege({ date, command }: RunOrigin, label: string, result: SiegeResult): void {
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page} has lost the lines that the siege stands between`);
  const others = text
    .slice(from, to)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---') && !line.startsWith(`| ${head[0]} `))
    .map((line) => line.slice(2, -2).split(' | '))
    .filter(([of]) => of !== label);
  const part = `Measured ${date} with \`${command}\`:\n\n${table([head, ...others, siegeCells(label, result)], true)}`;
  writeFileSync(page, `${text.slice(0, from)}${start}\n\n${part}\n\n${text.slice(to)}`);
}
