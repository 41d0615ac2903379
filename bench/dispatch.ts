import { bodiesOf, served } from './support/jobs.ts';
import { dispatchLoad, rateOf } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator, startEcho } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median, percentile } from './support/statistics.ts';

const connections = 64;
/** Of what the same middleware serves without keeping anything. */
const ratioMin = 0.65;

/** How long a round lasts and how many of each server there are. */
interface Plan {
  rounds: number;
  roundMs: number;
  warmUpMs: number;
}

/** Durable POST /api/jobs, against the same middleware around a handler that keeps nothing. */
export const dispatch: Scenario = {
  name: 'dispatch',
  about: `durable POST /api/jobs at ${connections} connections, against the same middleware that only echoes`,
  async run(bench) {
    const plan = bench.quick
      ? { rounds: 2, roundMs: 500, warmUpMs: 500 }
      : { rounds: 7, roundMs: 1_500, warmUpMs: 3_000 };
    return [...(await compare(bench, 300, plan, true)), ...(await compare(bench, 2_000, plan, false))];
  },
};

async function compare(
  bench: Bench,
  promptBytes: number,
  { rounds, roundMs, warmUpMs }: Plan,
  isTarget: boolean,
): Promise<Figure[]> {
  const echo = await startEcho(bench);
  const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
  const bodies = bodiesOf(served, promptBytes);
  await loaded(echo, bodies, warmUpMs);
  await loaded(coordinator, bodies, warmUpMs);
  // In turns, so that a slow minute of the machine spoils both alike.
  const pairs = await quietRounds(bench, rounds, async () => {
    const theirs = await loaded(echo, bodies, roundMs);
    const ours = await loaded(coordinator, bodies, roundMs);
    return { measured: { ours, theirs }, cpuMs: theirs.cpuMs + ours.cpuMs };
  });
  await coordinator.stop();
  await echo.stop();
  const ours = pairs.map((pair) => pair.ours);
  const theirs = pairs.map((pair) => pair.theirs);
  bench.say(`ours ${shown(ours)}; echo ${shown(theirs)} requests/s`);
  const value = median(ours.map(({ perSecond }) => perSecond));
  const peer = median(theirs.map(({ perSecond }) => perSecond));
  const mainUs = median(ours.map((round) => round.mainUs));
  const size = `${promptBytes} B prompt`;
  const latencies = ours.flatMap(({ latenciesMs }) => latenciesMs);
  return [
    {
      name: `durable dispatch, ${size}`,
      value,
      unit: 'jobs/s',
      ratio: value / peer,
      against: 'echo app',
      target: isTarget ? { of: 'ratio', is: 'at least', bound: ratioMin } : null,
    },
    figureOf(`  the echo app`, peer, 'requests/s'),
    {
      name: `  processor time of the main thread`,
      value: mainUs,
      unit: 'µs',
      ratio: mainUs / median(theirs.map((round) => round.mainUs)),
      against: 'echo app',
      target: null,
    },
    figureOf(`  answer p50`, median(latencies), 'ms'),
    figureOf(`  answer p99`, percentile(latencies, 0.99), 'ms'),
  ];
}

interface Loaded {
  perSecond: number;
  /** Processor time of the server's main thread for one request, µs. */
  mainUs: number;
  cpuMs: number;
  latenciesMs: number[];
}

async function loaded(server: ServerProcess, bodies: readonly string[], ms: number): Promise<Loaded> {
  await server.measure();
  const result = await dispatchLoad({ url: server.url, connections, bodies }, { ms });
  const { mainMs, cpuMs } = await server.report();
  const mainUs = (mainMs * 1000) / result.requests;
  return { perSecond: rateOf(result), mainUs, cpuMs, latenciesMs: result.latenciesMs };
}

function shown(rounds: readonly Loaded[]): string {
  return rounds.map(({ perSecond }) => perSecond.toFixed(0)).join(' ');
}
