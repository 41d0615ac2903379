import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuMsOf, treeOf } from './peers/processTree.ts';
import { bodiesOf, served } from './support/jobs.ts';
import { dispatchLoad, rateOf } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario, temporaryFolder } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const connections = 64;
const promptBytes = 300;
/** `http.fronts` of each coordinator. */
const counts = [0, 1, 2] as const;
/** The main thread of the core with fronts, of what it takes without them. */
const ratioMax = 0.5;

/** What a dispatch costs each part of the service. */
export const fronts: Scenario = {
  name: 'fronts',
  about: `processor time of the core and of each front for a durable POST /api/jobs, with ${counts.join(', ')} fronts in turns`,
  async run(bench) {
    const plan = bench.quick
      ? { rounds: 2, roundMs: 500, warmUpMs: 500 }
      : { rounds: 7, roundMs: 1_500, warmUpMs: 3_000 };
    const servers: ServerProcess[] = [];
    for (const count of counts) servers.push(await startWith(bench, count));
    const bodies = bodiesOf(served, promptBytes);
    for (const server of servers) await loaded(server, bodies, plan.warmUpMs);
    const rounds = await quietRounds(bench, plan.rounds, async () => {
      const measured: Loaded[] = [];
      for (const server of servers) measured.push(await loaded(server, bodies, plan.roundMs));
      return { measured, cpuMs: measured.reduce((sum, { cpuMs }) => sum + cpuMs, 0) };
    });
    for (const server of servers) await server.stop();
    return counts.flatMap((count, place) => figuresOf(count, rounds, place));
  },
};

async function startWith(bench: Bench, count: number): Promise<ServerProcess> {
  const file = join(temporaryFolder(bench), 'svc.config.json');
  writeFileSync(file, JSON.stringify({ http: { fronts: count } }));
  return startCoordinator(bench, await seedFolder(bench, {}), file);
}

interface Loaded {
  perSecond: number;
  /** Of the main thread of the core for one dispatch. */
  coreUs: number;
  /** Of all threads of the core. */
  coreProcessUs: number;
  /** Of all fronts together, for one dispatch. */
  frontsUs: number;
  cpuMs: number;
}

async function loaded(server: ServerProcess, bodies: readonly string[], ms: number): Promise<Loaded> {
  const pids = treeOf(server.pid).slice(1);
  const before = pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  await server.measure();
  const result = await dispatchLoad({ url: server.url, connections, bodies }, { ms });
  const { mainMs, cpuMs } = await server.report();
  const frontsMs = pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0) - before;
  const usEach = (spentMs: number) => (spentMs * 1000) / result.requests;
  return {
    perSecond: rateOf(result),
    coreUs: usEach(mainMs),
    coreProcessUs: usEach(cpuMs),
    frontsUs: usEach(frontsMs),
    cpuMs: cpuMs + frontsMs,
  };
}

function figuresOf(count: number, rounds: readonly Loaded[][], place: number): Figure[] {
  const of = (value: (loaded: Loaded) => number, at = place) =>
    median(rounds.flatMap((round) => round.slice(at, at + 1).map(value)));
  const coreUs = of((round) => round.coreUs);
  const name = `main thread of the core for a dispatch, ${count} ${count === 1 ? 'front' : 'fronts'}`;
  if (count === 0) {
    return [figureOf(name, coreUs, 'µs'), ...othersOf(of)];
  }
  return [
    {
      name,
      value: coreUs,
      unit: 'µs',
      ratio: coreUs / of((round) => round.coreUs, 0),
      against: 'no fronts',
      target: { of: 'ratio', is: 'at most', bound: ratioMax },
    },
    figureOf(
      '  all fronts together',
      of((round) => round.frontsUs),
      'µs',
    ),
    ...othersOf(of),
  ];
}

function othersOf(of: (value: (loaded: Loaded) => number) => number): Figure[] {
  return [
    figureOf(
      '  all threads of the core',
      of((round) => round.coreProcessUs),
      'µs',
    ),
    figureOf(
      '  dispatch',
      of((round) => round.perSecond),
      'jobs/s',
    ),
  ];
}
