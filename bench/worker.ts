import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { promptOf } from './support/jobs.ts';
import { PeerCoordinator } from './support/peerCoordinator.ts';
import { type ServerProcess, startProvider, startWorkerProcess } from './support/processes.ts';
import {
  answerTokens,
  apiKeyVariable,
  type MeasuredProvider,
  measuredProviders,
  pacedModel,
  tokenOf,
  tokensPerSecond,
} from './support/providers.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario, temporaryFolder } from './support/scenario.ts';
import { median, percentile } from './support/statistics.ts';

const perSecond = 50;
const slots = 300;
const promptBytes = 300;
const roundsWanted = 3;
const overheadMsMax = { p50: 3, p99: 10 };
const streams = 200;
const coreShareMax = 0.6;
/** The two whose streams are measured: the one through a vendor's package, and the one that is all our own. */
const streamed = ['openai', 'ollama'];

/** What the worker adds to a call of a provider, and what many streams at once cost it. */
export const worker: Scenario = {
  name: 'worker',
  about: `what \`svc worker\` adds to a call at ${perSecond} jobs/s, and ${streams} streams at ${tokensPerSecond} tokens/s`,
  async run(bench) {
    const provider = await startProvider(bench);
    const coordinator = await PeerCoordinator.listen(bench);
    const configFile = join(temporaryFolder(bench), 'svc.config.json');
    const providers = Object.fromEntries(
      measuredProviders.map(({ name, basePath, model }) => [
        name,
        { base_url: `${provider.url}${basePath}`, model, api_key_env: apiKeyVariable },
      ]),
    );
    writeFileSync(configFile, JSON.stringify({ providers }));
    const flags = measuredProviders.flatMap(({ name }) => ['--provider', name]);
    const process = await startWorkerProcess(bench, [
      ...flags,
      ...['--concurrency', String(slots), '--coordinator', coordinator.url, '--config', configFile],
    ]);
    await coordinator.ready();
    const parts = { bench, provider, coordinator, process };
    const figures: Figure[] = [];
    for (const measured of measuredProviders) figures.push(...(await overhead(parts, measured)));
    for (const name of streamed) figures.push(await streamCost(parts, name));
    figures.push(
      figureOf('memory of the worker after it', (await process.report()).rssBytes / 1024 ** 2, 'MiB'),
    );
    return figures;
  },
};

interface Parts {
  bench: Bench;
  provider: ServerProcess;
  coordinator: PeerCoordinator;
  process: ServerProcess;
}

async function overhead(parts: Parts, measured: MeasuredProvider): Promise<Figure[]> {
  const { bench, provider, coordinator, process } = parts;
  const { name, model } = measured;
  const calls = bench.quick ? 50 : perSecond * 5;
  const agent = new Agent({ keepAlive: true });
  bench.defer(() => agent.destroy());
  const direct = () => callDirectly(provider.url, measured, agent);
  const through = async () => {
    const finished = await coordinator.run({ provider: name, model, prompt: promptOf(name, promptBytes) });
    if (finished.output !== expected) throw new Error(`${name} answered ${finished.output}`);
    return finished.ms;
  };
  // Both compile their hot paths first; a busy worker has done so.
  await steady(bench.quick ? 50 : 300, perSecond * 2, through);
  await steady(bench.quick ? 50 : 300, perSecond * 2, direct);
  const rounds = await quietRounds(bench, bench.quick ? 1 : roundsWanted, async () => {
    await Promise.all([process.measure(), provider.measure()]);
    const directMs = await steady(calls, perSecond, direct);
    const throughMs = await steady(calls, perSecond, through);
    const [ofWorker, ofProvider] = await Promise.all([process.report(), provider.report()]);
    const jobMs = ofWorker.mainMs / calls;
    return { measured: { directMs, throughMs, jobMs }, cpuMs: ofWorker.cpuMs + ofProvider.cpuMs };
  });
  // All calls of the rounds together: one round has too few for a p99.
  const directMs = rounds.flatMap((round) => round.directMs);
  const throughMs = rounds.flatMap((round) => round.throughMs);
  const added = (label: 'p50' | 'p99', share: number): Figure => ({
    ...figureOf(
      `${name}: added to a call, ${label}`,
      percentile(throughMs, share) - percentile(directMs, share),
      'ms',
    ),
    target: { of: 'value', is: 'at most', bound: overheadMsMax[label] },
  });
  return [
    added('p50', 0.5),
    added('p99', 0.99),
    figureOf(`${name}: the call itself, p50`, median(directMs), 'ms'),
    figureOf(`${name}: processor time of the worker a job`, median(rounds.map(({ jobMs }) => jobMs)), 'ms'),
  ];
}

/** Times of `count` calls, one begun each 1/`rate` s whatever the others do. */
async function steady(count: number, rate: number, call: () => Promise<number>): Promise<number[]> {
  const startedAt = performance.now();
  const calls: Promise<number>[] = [];
  for (let index = 0; index < count; index++) {
    const waitMs = startedAt + (index * 1000) / rate - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    calls.push(call());
  }
  return Promise.all(calls);
}

const expected = Array.from({ length: answerTokens }, (_, index) => tokenOf(index)).join('');

/** The call as a program without SVC would make it; its time, ms, from the request to the last byte. */
function callDirectly(url: string, { name, direct }: MeasuredProvider, agent: Agent): Promise<number> {
  const body = JSON.stringify(direct.body(promptOf(name, promptBytes)));
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...direct.headers,
    };
    const sent = request(`${url}${direct.path}`, { method: 'POST', headers, agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${direct.path} answered ${response.statusCode}`));
      response.setEncoding('utf8').on('data', () => {});
      response.on('error', reject);
      response.on('end', () => resolve(performance.now() - startedAt));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The share of one core that the worker takes while all streams speak. */
async function streamCost({ bench, coordinator, process, provider }: Parts, name: string): Promise<Figure> {
  const seconds = bench.quick ? 2 : 10;
  const jobs = Array.from({ length: streams }, (_, index) =>
    coordinator.start({ provider: name, model: pacedModel, prompt: `stream ${index}` }),
  );
  // The streams begin, and their code is compiled.
  await sleep(bench.quick ? 1_000 : 5_000);
  const shares = await quietRounds(bench, bench.quick ? 1 : roundsWanted, async () => {
    await Promise.all([process.measure(), provider.measure()]);
    const chunks = coordinator.chunks;
    const startedAt = performance.now();
    await sleep(seconds * 1000);
    const [ofWorker, ofProvider] = await Promise.all([process.report(), provider.report()]);
    const elapsedMs = performance.now() - startedAt;
    const chunksPerSecond = ((coordinator.chunks - chunks) * 1000) / elapsedMs;
    // At most 20 frames a second a job; fewer than 10 and somebody does not speak.
    if (chunksPerSecond < streams * 10) throw new Error(`only ${chunksPerSecond} chunks/s came`);
    return { measured: ofWorker.cpuMs / elapsedMs, cpuMs: ofWorker.cpuMs + ofProvider.cpuMs };
  });
  coordinator.abortAll();
  await Promise.all(jobs);
  return {
    ...figureOf(
      `${name}: ${streams} streams at ${tokensPerSecond} tokens/s, share of a core`,
      median(shares),
      '',
    ),
    target: { of: 'value', is: 'at most', bound: coreShareMax },
  };
}
