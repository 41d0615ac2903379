import { cpus } from 'node:os';
import type { Bench } from './scenario.ts';
import { percentile } from './statistics.ts';

/** Up to this share of all processors is what any machine is busy with. */
const othersMax = 0.1;
/** Rounds that may be made for each that is wanted, when others use the machine. */
const roundsPerWanted = 5;

/** What a round has measured, and the processor time of the processes under test in it, ms. */
export interface Round<T> {
  measured: T;
  cpuMs: number;
}

/**
 * Make rounds until `wanted` of them had the machine to themselves, and keep the quietest: a round beside somebody
 * else's tests measures those tests.
 */
export async function quietRounds<T>(
  bench: Bench,
  wanted: number,
  round: () => Promise<Round<T>>,
  perWanted = roundsPerWanted,
): Promise<T[]> {
  const rounds: { measured: T; others: number }[] = [];
  const isQuiet = ({ others }: { others: number }) => others <= othersMax;
  const roundsMax = bench.quick ? wanted : wanted * perWanted;
  while (rounds.filter(isQuiet).length < wanted && rounds.length < roundsMax) {
    const others = watchOthers();
    const { measured, cpuMs } = await round();
    rounds.push({ measured, others: others(cpuMs) });
  }
  const kept = rounds.sort((a, b) => a.others - b.others).slice(0, wanted);
  const shares = kept.map(({ others }) => others * 100);
  const most = percentile(shares, 1).toFixed(0);
  bench.say(`${wanted} of ${rounds.length} rounds kept; others took up to ${most} % of the machine in them`);
  return kept.map(({ measured }) => measured);
}

/** @returns the share of all processors that others have used since, given what the processes under test have, ms. */
export function watchOthers(): (cpuMs: number) => number {
  const machine = machineTimes();
  const own = process.cpuUsage();
  return (cpuMs) => {
    const { busyMs, totalMs } = machineTimes();
    const { user, system } = process.cpuUsage(own);
    const ownMs = cpuMs + (user + system) / 1000;
    return Math.max(0, busyMs - machine.busyMs - ownMs) / (totalMs - machine.totalMs);
  };
}

function machineTimes(): { busyMs: number; totalMs: number } {
  let busyMs = 0;
  let idleMs = 0;
  for (const { times } of cpus()) {
    busyMs += times.user + times.nice + times.sys + times.irq;
    idleMs += times.idle;
  }
  return { busyMs, totalMs: busyMs + idleMs };
}
