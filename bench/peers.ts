import { costOfJob, dispatched, drained, endToEnd, p50, p99, pickedUp } from './peers/measures.ts';
import { ours } from './peers/ours.ts';
import { peers as others } from './peers/peer.ts';
import { type Contender, concurrencies, type Station } from './peers/station.ts';
import { startEcho } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import {
  alone,
  type Bench,
  type Figure,
  type Measure,
  type Scenario,
  type Target,
} from './support/scenario.ts';
import { median } from './support/statistics.ts';

const contenders: readonly Contender[] = [ours, ...others];
/** Of the echo app, and of BullMQ that syncs before it answers, as we do. */
const echoRatioMin = 0.8;
const dispatchRatioMin = 1.3;
const drainRatioMin = 1.5;
const endToEndRatioMin = 1.2;
const pickUpP50MsMax = 1.5;
const pickUpP99MsMax = 10;
const growthMax = 1.2;
/** How many jobs are pending where that is what is looked at, and what its figures are called. */
interface Backlog {
  jobs: number;
  memory: Measure;
  disk: Measure;
  restart: Measure;
  growth: Measure;
}
const hundredThousand: Backlog = {
  jobs: 100_000,
  memory: 'memory per 1,000 pending',
  disk: 'disk per 1,000 pending',
  restart: 'restart',
  growth: 'growth',
};
const million: Backlog = {
  jobs: 1_000_000,
  memory: 'memory per 1,000 of a million pending',
  disk: 'disk per 1,000 of a million pending',
  restart: 'restart with a million pending',
  growth: 'growth to a million',
};
/** Rounds made for each that is wanted, at most: fewer than elsewhere, because one takes up to a minute. */
const triesPerWanted = 2;

/** Peers that people use today, behind the same middleware, in the same run. */
export const peers: Scenario = {
  name: 'peers',
  about:
    'dispatch, drain, end to end, pick-up, memory, restart and growth beside BullMQ, pg-boss and graphile-worker',
  isOptional: true,
  async run(bench) {
    const best = new Map<Contender, number>();
    return [
      ...(await alone(bench, dispatch)),
      ...(await alone(bench, (inner) => drain(inner, best))),
      ...(await alone(bench, (inner) => throughput(inner, best))),
      ...(await alone(bench, pickUp)),
      ...(await storage(bench)),
      ...(await growth(bench, best)),
    ];
  },
};

type Opened = [Contender, Station][];

async function openAll(bench: Bench): Promise<Opened> {
  const opened: Opened = [];
  for (const contender of contenders) {
    bench.say(`starting ${contender.name}`);
    opened.push([contender, await contender.open(bench)]);
  }
  return opened;
}

/** Rounds of all in turns, with the processor time of everything that the bench has started beside each. */
async function inTurns<T>(
  bench: Bench,
  wanted: number,
  opened: Opened,
  measure: (station: Station, contender: Contender) => Promise<T>,
): Promise<Map<Contender, T[]>> {
  const rounds = await quietRounds(
    bench,
    wanted,
    async () => {
      const before = cpuMs(opened);
      const measured = new Map<Contender, T>();
      for (const [contender, station] of opened) measured.set(contender, await measure(station, contender));
      return { measured, cpuMs: cpuMs(opened) - before };
    },
    bench.brief ? 1 : triesPerWanted,
  );
  const kept = (contender: Contender) => rounds.flatMap((round) => round.get(contender) ?? []);
  return new Map(opened.map(([contender]) => [contender, kept(contender)]));
}

/** How many rounds are wanted. */
function rounds(bench: Bench, full: number, brief: number): number {
  if (bench.quick) return 1;
  return bench.brief ? brief : full;
}

function cpuMs(opened: Opened): number {
  return opened.reduce((sum, [, station]) => sum + station.cpuMs(), 0);
}

async function dispatch(bench: Bench): Promise<Figure[]> {
  const echo = await startEcho(bench);
  const opened = await openAll(bench);
  const ms = bench.quick ? 400 : 1_500;
  for (const [, station] of opened) await dispatched(station.app, { ms: 4 * ms });
  await dispatched(echo, { ms: 4 * ms });
  // The echo app beside each of ours: the limit of the same moment.
  const limits: number[] = [];
  const kept = await inTurns(bench, rounds(bench, 7, 7), opened, async (station, contender) => {
    const limit = contender === ours ? (await dispatched(echo, { ms })).perSecond : null;
    if (limit !== null) limits.push(limit);
    const cpuBefore = station.cpuMs();
    const result = await dispatched(station.app, { ms });
    const jobs = result.latenciesMs.length;
    return { ...result, limit, cpuUs: ((station.cpuMs() - cpuBefore) * 1000) / jobs };
  });
  const of = (contender: Contender) => kept.get(contender) ?? [];
  const rate = (contender: Contender) => median(of(contender).map(({ perSecond }) => perSecond));
  const limit = median(of(ours).flatMap((round) => round.limit ?? []));
  bench.say(`echo ${limits.map((perSecond) => perSecond.toFixed(0)).join(' ')}`);
  return [
    figureOf('dispatch', 'The echo app (limit)', limit, 'jobs/s'),
    ...contenders.map((contender) => figureOf('dispatch', contender.name, rate(contender), 'jobs/s')),
    compared('dispatch, against the limit', rate(ours), 'jobs/s', limit, 'echo app', atLeast(echoRatioMin)),
    ...againstPeers('dispatch', rate, 'jobs/s', atLeast(dispatchRatioMin)),
    ...contenders.flatMap((contender) => {
      const latencies = of(contender).flatMap(({ latenciesMs }) => latenciesMs);
      return [
        figureOf('dispatch p50', contender.name, p50(latencies), 'ms'),
        figureOf('dispatch p99', contender.name, p99(latencies), 'ms'),
        figureOf(
          'processor time per dispatch',
          contender.name,
          median(of(contender).map((r) => r.cpuUs)),
          'µs',
        ),
      ];
    }),
  ];
}

async function drain(bench: Bench, best: Map<Contender, number>): Promise<Figure[]> {
  const opened = await openAll(bench);
  const jobs = bench.quick ? 1_000 : 10_000;
  const run = async (station: Station, concurrency: number) => {
    await station.fill(jobs, 300);
    return drained(station, concurrency, jobs);
  };
  for (const [contender, station] of opened) {
    let most = 0;
    for (const concurrency of concurrencies) {
      const perSecond = await run(station, concurrency);
      bench.say(`${contender.name} at ${concurrency}: ${perSecond.toFixed(0)} jobs/s`);
      if (perSecond > most) best.set(contender, concurrency);
      most = Math.max(most, perSecond);
    }
  }
  const kept = await inTurns(bench, rounds(bench, 5, 4), opened, (station, contender) =>
    run(station, best.get(contender) ?? 1),
  );
  const rate = (contender: Contender) => median(kept.get(contender) ?? []);
  return [
    ...contenders.map((contender) => figureOf('drain', contender.name, rate(contender), 'jobs/s')),
    ...contenders.map((one) =>
      figureOf('drain, best concurrency', one.name, best.get(one) ?? Number.NaN, ''),
    ),
    ...againstPeers('drain', rate, 'jobs/s', atLeast(drainRatioMin)),
  ];
}

async function throughput(bench: Bench, best: ReadonlyMap<Contender, number>): Promise<Figure[]> {
  const opened = await openAll(bench);
  const jobs = bench.quick ? 500 : 5_000;
  const workers = new Map<Contender, Awaited<ReturnType<Station['startWorker']>>>();
  const run = async (station: Station, contender: Contender) => {
    const worker = workers.get(contender) ?? (await station.startWorker(best.get(contender) ?? 1));
    workers.set(contender, worker);
    return endToEnd(station, worker, jobs);
  };
  for (const [contender, station] of opened) await run(station, contender);
  const kept = await inTurns(bench, rounds(bench, 5, 5), opened, run);
  for (const worker of workers.values()) await worker.stop();
  const rate = (contender: Contender) => median(kept.get(contender) ?? []);
  return [
    ...contenders.map((contender) => figureOf('end to end', contender.name, rate(contender), 'jobs/s')),
    ...againstPeers('end to end', rate, 'jobs/s', atLeast(endToEndRatioMin)),
  ];
}

async function pickUp(bench: Bench): Promise<Figure[]> {
  const opened = await openAll(bench);
  const warmUp = bench.quick ? 300 : 5_000;
  for (const [contender, station] of opened) {
    await dispatched(station.app, { requests: warmUp });
    await drained(station, contender === ours ? 200 : 50, warmUp);
    await pickedUp(station, 1_000);
  }
  const ms = bench.quick ? 1_000 : 8_000;
  const kept = await inTurns(bench, rounds(bench, 2, 1), opened, (station) => pickedUp(station, ms));
  const of = (contender: Contender) => (kept.get(contender) ?? []).flat();
  const value = (target: Target): Target => ({ ...target, of: 'value' });
  return [
    ...contenders.flatMap((contender) => [
      figureOf('pick-up p50', contender.name, p50(of(contender)), 'ms'),
      figureOf('pick-up p99', contender.name, p99(of(contender)), 'ms'),
    ]),
    ...againstPeers('pick-up p50', (one) => p50(of(one)), 'ms', value(atMost(pickUpP50MsMax))),
    ...againstPeers('pick-up p99', (one) => p99(of(one)), 'ms', value(atMost(pickUpP99MsMax))),
  ];
}

function backlogs(bench: Bench): Backlog[] {
  if (bench.quick) return [{ ...hundredThousand, jobs: 5_000 }];
  return bench.large ? [hundredThousand, million] : [hundredThousand];
}

/** One after the other, so that nobody's cache is in another's way. */
async function storage(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const backlog of backlogs(bench)) {
    for (const { name, open } of contenders) {
      bench.say(`storing ${backlog.jobs} jobs of 1 KB in ${name}`);
      const { memory, disk, restartMs, emptyRestartMs } = await alone(bench, async (inner) =>
        stored(inner, await open(inner), backlog.jobs),
      );
      figures.push(
        figureOf(backlog.memory, name, memory, 'MiB'),
        figureOf(backlog.disk, name, disk, 'MiB'),
        figureOf(backlog.restart, name, restartMs, 'ms'),
      );
      if (backlog !== million) figures.push(figureOf('restart, empty', name, emptyRestartMs, 'ms'));
    }
  }
  return figures;
}

/** What pending jobs take after a restart, MiB for 1,000 of them, and how long that takes. */
async function stored(bench: Bench, station: Station, jobs: number) {
  const emptyRestartMs = await station.restart();
  const empty = { memory: station.memory(), disk: station.disk() };
  await station.fill(jobs, 1_000);
  const restartsMs: number[] = [];
  for (let times = 0; times < rounds(bench, 3, 1); times++) restartsMs.push(await station.restart());
  const per1000 = (bytes: number) => (bytes * 1_000) / jobs / 1024 ** 2;
  return {
    memory: per1000(station.memory() - empty.memory),
    disk: per1000(station.disk() - empty.disk),
    restartMs: median(restartsMs),
    emptyRestartMs,
  };
}

/** Two stations of one contender in turns, one with few pending and one with many. */
async function growth(bench: Bench, best: ReadonlyMap<Contender, number>): Promise<Figure[]> {
  const figures: Figure[] = [];
  const few = 1_000;
  const jobs = bench.quick ? 500 : 3_000;
  for (const contender of contenders) {
    for (const { jobs: many, growth: measure } of backlogs(bench)) {
      const ratio = await alone(bench, async (inner) => {
        const stations: Opened = [];
        for (const pending of [few, many]) {
          bench.say(`${contender.name} with ${pending} pending`);
          const station = await contender.open(inner);
          await station.fill(pending + jobs, 300);
          stations.push([{ ...contender, name: String(pending) }, station]);
        }
        const run = (station: Station) => costOfJob(station, best.get(contender) ?? 50, jobs);
        for (const [, station] of stations) await run(station);
        const kept = await inTurns(inner, rounds(bench, 3, 2), stations, run);
        const [base = Number.NaN, grown = Number.NaN] = [...kept.values()].map(median);
        bench.say(`a job costs ${base.toFixed(0)} µs, then ${grown.toFixed(0)}`);
        return { base, grown };
      });
      const target = contender === ours && many <= hundredThousand.jobs ? atMost(growthMax) : null;
      const name = `cost of a job with ${many.toLocaleString('en')} pending: ${contender.name}`;
      const figure = compared(
        name,
        ratio.grown,
        'µs',
        ratio.base,
        `${few.toLocaleString('en')} pending`,
        target,
      );
      figures.push({ ...figure, place: { measure, contender: contender.name } });
    }
  }
  return figures;
}

function atLeast(bound: number): Target {
  return { of: 'ratio', is: 'at least', bound };
}

function atMost(bound: number): Target {
  return { of: 'ratio', is: 'at most', bound };
}

/** One of a contender's figures in the table of a measure. */
function figureOf(measure: Measure, contender: string, value: number, unit: string): Figure {
  const place = { measure, contender };
  return { name: `${measure}: ${contender}`, value, unit, ratio: null, against: '', target: null, place };
}

function compared(
  name: string,
  value: number,
  unit: string,
  peer: number,
  against: string,
  target: Target | null,
): Figure {
  return { name, value, unit, ratio: value / peer, against, target };
}

/** Ours against each peer. A target on the ratio is against the one that promises the same. */
function againstPeers(
  name: string,
  of: (contender: Contender) => number,
  unit: string,
  target: Target,
): Figure[] {
  return others.map((peer) =>
    compared(name, of(ours), unit, of(peer), peer.name, peer.isTarget ? target : null),
  );
}
