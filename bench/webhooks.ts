import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promptOf, served } from './support/jobs.ts';
import { connect, getJson, post, steadyLoad } from './support/load.ts';
import {
  type ServerProcess,
  seedFolder,
  spawnSvc,
  startCoordinator,
  startServer,
} from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario, temporaryFolder } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const connections = 16;
/** So many jobs are dispatched each second, and as many end, each with a message. */
const perSecond = 1_000;
const slots = 600;
const jobMs = 200;
const promptBytes = 300;
/** Of what the main thread could do in the time. */
const shareMax = 0.05;
/** What was under way for a webhook is over, ms. */
const settleMs = 1_500;

/** What a thousand messages a second to a webhook take of the main thread, which is what dispatch runs out of. */
export const webhooks: Scenario = {
  name: 'webhooks',
  about:
    'durable POST /api/jobs while a thousand webhook messages leave each second, against none that leave',
  async run(bench) {
    const { rounds, ms } = bench.quick ? { rounds: 1, ms: 500 } : { rounds: 7, ms: 3_000 };
    const receiver = await startServer({ ...bench, profileFolder: null }, 'receiverProcess.ts', '');
    const configFile = join(temporaryFolder(bench), 'config.yaml');
    writeFileSync(configFile, 'webhooks: { allow_http: true, allow_private: [127.0.0.0/8] }\n');
    const coordinator = await startCoordinator(bench, await seedFolder(bench, {}), configFile);
    const client = connect(coordinator.url);
    bench.defer(() => client.destroy());
    await post(
      client,
      '/api/webhooks',
      JSON.stringify({ name: 'bench', url: receiver.url, enabled: false }),
      201,
    );
    const enable = (enabled: boolean) =>
      client.send('PATCH', '/api/webhooks/bench', JSON.stringify({ enabled }), 200);
    const flags = ['--provider', served, '--concurrency', String(slots), '--coordinator', coordinator.url];
    spawnSvc(bench, ['worker', ...flags], 'worker');
    await loaded(bench, coordinator, receiver, ms);
    await sleep(settleMs);
    const pairs = await quietRounds(bench, rounds, async () => {
      await enable(true);
      const sending = await loaded(bench, coordinator, receiver, ms);
      await enable(false);
      await sleep(settleMs);
      const silent = await loaded(bench, coordinator, receiver, ms);
      return { measured: { sending, silent }, cpuMs: sending.cpuMs + silent.cpuMs };
    });
    const of = (name: 'sending' | 'silent', figure: keyof Loaded) =>
      median(pairs.map((pair) => pair[name][figure]));
    const more = median(pairs.map(({ sending, silent }) => sending.share - silent.share));
    return [
      {
        name: 'share of the main thread for messages',
        value: more,
        unit: '',
        ratio: null,
        against: '',
        target: { of: 'value', is: 'at most', bound: shareMax },
      },
      figureOf('  messages', of('sending', 'messages'), 'messages/s'),
      figureOf('  the main thread for a message', (more * 1e6) / of('sending', 'messages'), 'µs'),
      figureOf('  share of the main thread without them', of('silent', 'share'), ''),
      figureOf('  shares of all threads', of('sending', 'shareOfAll'), ''),
      figureOf('  shares of all threads without them', of('silent', 'shareOfAll'), ''),
    ] satisfies Figure[];
  },
};

interface Loaded {
  messages: number;
  /** Processor time to time. */
  share: number;
  shareOfAll: number;
  cpuMs: number;
}

const bodies = Array.from({ length: 64 }, (_, index) =>
  JSON.stringify({
    provider: served,
    prompt: promptOf(`ticket ${index}`, promptBytes),
    tags: ['bench'],
    params: { echo_delay_ms: jobMs },
  }),
);

async function loaded(
  bench: Bench,
  coordinator: ServerProcess,
  receiver: ServerProcess,
  ms: number,
): Promise<Loaded> {
  const taken = async () => {
    const client = connect(receiver.url);
    try {
      return Number(await getJson(client, '/'));
    } finally {
      client.destroy();
    }
  };
  const before = await taken();
  await coordinator.measure();
  const load = { url: coordinator.url, connections, bodies };
  const { elapsedMs } = await steadyLoad(load, { perSecond, ms });
  const { mainMs, cpuMs } = await coordinator.report();
  const messages = ((await taken()) - before) / (elapsedMs / 1000);
  const [share, shareOfAll] = [mainMs / elapsedMs, cpuMs / elapsedMs];
  bench.say(`${messages.toFixed(0)} messages/s, ${share.toFixed(3)} of the main thread`);
  return { messages, share, shareOfAll, cpuMs };
}
