import { gatewayFigures, writeGateway } from './gateway/report.ts';
import { type Name, type Systems, startSystems } from './gateway/systems.ts';
import { type Measured, opening, type Setting, type Turn, takeTurn } from './gateway/turn.ts';
import { cpuMsOf } from './peers/processTree.ts';
import { timedModel } from './support/providers.ts';
import { quietRounds } from './support/quiet.ts';
import type { Bench, Scenario } from './support/scenario.ts';

const roundsWanted = 2;
/** One more than wanted, on a machine that is never quiet: four minutes are enough. */
const roundsPerWanted = 3 / 2;
/** 30 tokens a second. */
const paceMs = 33;

/**
 * The longer wait with more at once keeps the load at what the machine can do: 20, 100 and 200 whole calls a second, and
 * 6,000 tokens a second in 200 streams.
 */
const settings: readonly Setting[] = [
  { kind: 'whole', atOnce: 1, callsEach: 50, timing: { waitMs: 50, tokens: 20, paceMs: 0 } },
  { kind: 'whole', atOnce: 50, callsEach: 3, timing: { waitMs: 500, tokens: 20, paceMs: 0 } },
  { kind: 'whole', atOnce: 200, callsEach: 2, timing: { waitMs: 1_000, tokens: 20, paceMs: 0 } },
  { kind: 'stream', atOnce: 1, callsEach: 20, timing: { waitMs: 50, tokens: 8, paceMs } },
  { kind: 'stream', atOnce: 50, callsEach: 2, timing: { waitMs: 500, tokens: 20, paceMs } },
  { kind: 'stream', atOnce: 200, callsEach: 1, timing: { waitMs: 1_000, tokens: 20, paceMs } },
];
/** Every system compiles its hot paths first; a busy one has done so. */
const warmUps: readonly Setting[] = [
  { kind: 'whole', atOnce: 50, callsEach: 8, timing: { waitMs: 100, tokens: 20, paceMs: 0 } },
  { kind: 'stream', atOnce: 50, callsEach: 4, timing: { waitMs: 100, tokens: 20, paceMs: 10 } },
];
const quickSettings: readonly Setting[] = [
  { kind: 'whole', atOnce: 20, callsEach: 1, timing: { waitMs: 200, tokens: 20, paceMs: 0 } },
  { kind: 'stream', atOnce: 20, callsEach: 1, timing: { waitMs: 200, tokens: 10, paceMs } },
];

/** What a call through SVC costs beside one through Portkey's gateway and one made directly. */
export const gateway: Scenario = {
  name: 'gateway',
  about:
    'a call through SVC, native and /v1, and through Portkey’s gateway, against a direct one; 1, 50 and 200 at once',
  isOptional: true,
  async run(bench) {
    const measured = await measureGateway(bench, bench.quick ? quickSettings : settings, true);
    const figures = gatewayFigures(measured);
    if (bench.report !== null) writeGateway(bench, bench.report, measured);
    return figures;
  },
};

/** Without Portkey nothing is needed that this project does not have. */
export async function measureGateway(
  bench: Bench,
  of: readonly Setting[],
  withPortkey: boolean,
): Promise<Measured[]> {
  const before = bench.quick ? [] : warmUps;
  const models = [opening, ...[...before, ...of].map(({ timing }) => timing)].map(timedModel);
  const started = await startSystems(bench, models, withPortkey);
  for (const setting of before) for (const system of started.systems) await takeTurn(system, setting);
  const measured: Measured[] = [];
  for (const setting of of) {
    bench.say(`${setting.kind}, ${setting.atOnce} at once`);
    measured.push({ setting, turns: await inTurns(bench, started, setting) });
  }
  return measured;
}

async function inTurns(
  bench: Bench,
  { provider, systems }: Systems,
  setting: Setting,
): Promise<Map<Name, Turn>> {
  // Both ways through SVC are the same processes.
  const pids = new Set([provider.pid, ...systems.flatMap((system) => system.pids)]);
  const cpuMs = () => [...pids].reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  const rounds = await quietRounds(
    bench,
    bench.quick ? 1 : roundsWanted,
    async () => {
      const before = cpuMs();
      const turns = new Map<Name, Turn>();
      for (const system of systems) turns.set(system.name, await takeTurn(system, setting));
      return { measured: turns, cpuMs: cpuMs() - before };
    },
    roundsPerWanted,
  );
  return new Map(
    systems.map(({ name }) => [name, together(rounds.flatMap((turns) => turns.get(name) ?? []))]),
  );
}

/** All calls of the rounds together: one round has too few for a p99. */
function together(turns: readonly Turn[]): Turn {
  return {
    wholeMs: turns.flatMap(({ wholeMs }) => wholeMs),
    firstMs: turns.flatMap(({ firstMs }) => firstMs),
    gapsMs: turns.flatMap(({ gapsMs }) => gapsMs),
    calls: turns.reduce((sum, { calls }) => sum + calls, 0),
    cpuMs: turns.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  };
}
