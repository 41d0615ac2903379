import { type Contender, contenders, type Place } from './bulk/contenders.ts';
import type { Limit } from './bulk/limits.ts';
import type { ProviderSetup, Tally } from './bulk/messages.ts';
import { type BulkCase, bulkFigures, writeBulk } from './bulk/report.ts';
import { startRedis } from './peers/servers.ts';
import { connect, getJson } from './support/load.ts';
import { startServer } from './support/processes.ts';
import { watchOthers } from './support/quiet.ts';
import { alone, type Bench, type Scenario } from './support/scenario.ts';

interface Size {
  limit: Limit;
  prompts: number;
}

/** Half a minute each for somebody who always uses all of the limit. */
const sizes: readonly Size[] = [
  { limit: { kind: 'rate', perSecond: 20, burst: 20 }, prompts: 600 },
  { limit: { kind: 'concurrency', atOnce: 16 }, prompts: 480 },
];
const quickSizes: readonly Size[] = [
  { limit: { kind: 'rate', perSecond: 20, burst: 20 }, prompts: 60 },
  { limit: { kind: 'concurrency', atOnce: 16 }, prompts: 48 },
];

/** How long a run of prompts takes at a provider that limits, and what it wastes. */
export const bulk: Scenario = {
  name: 'bulk',
  about:
    'a run of prompts through a provider that answers 429, against what its limit allows; beside BullMQ and a script',
  isOptional: true,
  async run(bench) {
    const redis = await startRedis(bench, 'everysec');
    const cases: BulkCase[] = [];
    for (const size of bench.quick ? quickSizes : sizes)
      cases.push(await alone(bench, (inner) => measureBulk(inner, size, contenders, redis.url)));
    if (bench.report !== null) writeBulk(bench, bench.report, cases);
    return bulkFigures(cases);
  },
};

/**
 * All of them side by side, each with the limit for itself: they wait nearly all of the time, so none is in another's way,
 * and the share of the machine that was in use is reported.
 */
export async function measureBulk(
  bench: Bench,
  { limit, prompts }: Size,
  chosen: readonly Contender[],
  redisUrl: string | null,
): Promise<BulkCase> {
  const setup: ProviderSetup = { limit };
  const provider = await startServer(bench, '../bulk/providerProcess.ts', JSON.stringify(setup));
  const place: Place = { limit, prompts, url: provider.url, redisUrl };
  const opened: { contender: Contender; start: Awaited<ReturnType<Contender['open']>> }[] = [];
  for (const contender of chosen) {
    bench.say(`starting ${contender.lane}`);
    opened.push({ contender, start: await contender.open(bench, place) });
  }
  const used = watchOthers();
  const runs = await Promise.all(
    opened.map(async ({ contender, start }) => {
      const run = await start();
      bench.say(`${contender.lane}: ${(run.ms / 1000).toFixed(1)} s`);
      return { contender, run };
    }),
  );
  const busy = used(0);
  const client = connect(provider.url);
  const tallies = (await getJson(client, '/tally')) as Record<string, Tally>;
  client.destroy();
  const none: Tally = { refused: 0, paid: 0, paidAgain: 0 };
  const results = runs.map((result) => ({ ...result, tally: tallies[result.contender.lane] ?? none }));
  for (const { contender, run, tally } of results)
    if (run.answered > tally.paid) throw new Error(`${contender.lane} has more answers than it paid for`);
  return { limit, prompts, busy, results };
}
