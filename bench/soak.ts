import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Accounts, settle } from './soak/accounts.ts';
import { Churn } from './soak/churn.ts';
import { SoakLoad } from './soak/load.ts';
import { limited } from './soak/mix.ts';
import { flat, type Stretch, stretchTable, writeSoak } from './soak/report.ts';
import { bodiesOf, served } from './support/jobs.ts';
import { steadyLoad } from './support/load.ts';
import { type ServerProcess, startCoordinator, startEcho } from './support/processes.ts';
import { type Bench, type Figure, figureOf, type Scenario, temporaryFolder } from './support/scenario.ts';
import { median, percentile } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const minutesUsual = 30;
const minutesQuick = 0.5;
const stretchesMin = 9;
const stretchMsMax = 60_000;
const churnEveryMs = 10_000;
const floodMs = 15_000;
/** Half an hour of more would fill the disk with archives: 1,000 a second are 1,800,000 jobs, some 4 GB. */
const perSecondMax = 1_000;
/** Ended jobs that are not archived: so many that the store is full after a sixth of the time, and no more than these. */
const keepJobsMax = 20_000;
const keptShare = 1 / 6;
const limitedSlots = 20;
/** Every so many assignments the limited provider says: later. */
const limitEvery = 20;
/** Requests to the echo app beside the load: enough for a p99 of each stretch, too few to be felt. */
const echoPerSecond = 20;
const echoConnections = 2;
const promptBytes = 300;
const flatRatioMax = 1.2;
const mebibyte = 1024 ** 2;

/** Half of what the coordinator can do, for half an hour, while everything around it comes and goes. */
export const soak: Scenario = {
  name: 'soak',
  about: `half of capacity for ${minutesUsual} minutes while workers, subscribers and keys come and go: memory, handles, latency`,
  isOptional: true,
  async run(bench) {
    const minutes = bench.minutes ?? (bench.quick ? minutesQuick : minutesUsual);
    const config = { providers: { [limited]: { rate_limit: { retry_after_seconds: 1 } } } };
    const folder = temporaryFolder(bench);
    const configFile = join(folder, 'svc.config.json');
    writeFileSync(configFile, JSON.stringify(config));
    const coordinator = await startCoordinator(bench, join(folder, 'data'), configFile);
    const { url } = coordinator;
    const churn = new Churn(bench, { url, configFile, config });
    await Promise.all([churn.start(), startLimited(bench, url)]);
    const echo = await startEcho(bench);
    const load = new SoakLoad(bench, url);
    await load.follow(bench);

    const capacity = await load.flood(bench.quick ? floodMs / 5 : floodMs);
    const perSecond = Math.min(capacity / 2, perSecondMax);
    const keepJobs = Math.min(keepJobsMax, Math.round(perSecond * minutes * 60 * keptShare));
    await churn.configure({ ...config, retention: { keep_jobs: keepJobs } });
    bench.say(
      `capacity ${capacity.toFixed(0)} jobs/s; ${perSecond.toFixed(0)} a second for ${minutes} minutes`,
    );
    load.takeWindow();
    const stretches = await soaked({ bench, coordinator, echo, churn, load }, perSecond, minutes * 60_000);
    await load.drained();
    const accounts = await settle(url, load);
    for (const example of accounts.examples) bench.say(example);

    const figures = [
      figureOf('capacity: dispatch and work together', capacity, 'jobs/s'),
      figureOf('the load', perSecond, 'jobs/s'),
      ...flatness(stretches),
      ...balance(accounts),
    ];
    const { stopped, killed, subscribers, keys, reloads } = churn.done;
    const lines = [
      `Capacity (a flood of the same jobs) ${capacity.toFixed(0)} jobs/s; the load was ${perSecond.toFixed(0)} jobs/s, ${accounts.acknowledged.toLocaleString('en')} jobs in all, ${keepJobs.toLocaleString('en')} kept and the rest archived`,
      `Meanwhile ${stopped} workers left, ${killed} were killed and as many came; ${subscribers} subscribers came and went, ${keys} keys were made and revoked, the configuration was read again ${reloads} times`,
    ];
    for (const line of [...lines, ...stretchTable(stretches).split('\n')]) bench.say(line);
    if (bench.report !== null) writeSoak(bench, bench.report, { figures, stretches, lines });
    return figures;
  },
};

/** Does its jobs at once, but says now and then that its provider has had enough. */
async function startLimited(bench: Bench, url: string): Promise<void> {
  let assigned = 0;
  const fail = () => {
    assigned += 1;
    if (assigned % limitEvery !== 0) return null;
    return { class: 'rate_limited', message: 'later', status: 429, retry_after_seconds: 0.5 } as const;
  };
  const worker = await WorkerClient.connect(bench, url, limitedSlots, { fail }, limited);
  worker.allow(Number.POSITIVE_INFINITY);
}

interface Parts {
  bench: Bench;
  coordinator: ServerProcess;
  /** Does the same work without keeping anything: how slow the machine itself is in each stretch. */
  echo: ServerProcess;
  churn: Churn;
  load: SoakLoad;
}

/** Load, churn and measurements beside one another. */
async function soaked(
  { bench, coordinator, echo, churn, load }: Parts,
  perSecond: number,
  ms: number,
): Promise<Stretch[]> {
  const startedAt = performance.now();
  const endsAt = startedAt + ms;
  const stretchMs = Math.min(stretchMsMax, ms / stretchesMin);
  const stretches: Stretch[] = [];
  const bodies = bodiesOf(served, promptBytes);
  const echoLoad = { url: echo.url, connections: echoConnections, bodies };
  const measure = async () => {
    for (let count = 1; count * stretchMs <= ms; count++) {
      await Promise.all([coordinator.measure(), echo.measure()]);
      const leftMs = Math.max(0, startedAt + count * stretchMs - performance.now());
      const echoed = await steadyLoad(echoLoad, { perSecond: echoPerSecond, ms: leftMs });
      const { rssBytes, delayMs } = await coordinator.report();
      const echoDelayMs = (await echo.report()).delayMs;
      const { jobs, dispatchMs, resultMs } = load.takeWindow();
      const { heapBytes, descriptors } = await coordinator.collect();
      stretches.push({
        minute: (performance.now() - startedAt) / 60_000,
        jobs,
        rssMiB: rssBytes / mebibyte,
        heapMiB: heapBytes / mebibyte,
        descriptors,
        delayP99Ms: delayMs.p99,
        dispatchP50Ms: percentile(dispatchMs, 0.5),
        dispatchP99Ms: percentile(dispatchMs, 0.99),
        resultP50Ms: percentile(resultMs, 0.5),
        resultP99Ms: percentile(resultMs, 0.99),
        echoDelayP99Ms: echoDelayMs.p99,
        echoP50Ms: percentile(echoed.latenciesMs, 0.5),
        echoP99Ms: percentile(echoed.latenciesMs, 0.99),
      });
    }
  };
  const churning = async () => {
    const everyMs = Math.min(churnEveryMs, ms / stretchesMin);
    for (let count = 1; performance.now() < endsAt; count++) {
      await churn.round();
      await sleep(Math.max(0, Math.min(endsAt, startedAt + count * everyMs) - performance.now()));
    }
  };
  await Promise.all([load.steady(perSecond, ms), measure(), churning()]);
  bench.say(`${stretches.length} stretches of ${(stretchMs / 1000).toFixed(0)} s`);
  return stretches;
}

/** The last third beside the one before it; in the first the caches fill. */
function flatness(stretches: readonly Stretch[]): Figure[] {
  const third = Math.floor(stretches.length / 3);
  const last = stretches.slice(-third);
  const before = stretches.slice(-2 * third, -third);
  return (Object.keys(flat) as (keyof typeof flat)[]).map((key) => {
    const { name, unit, beside } = flat[key];
    const at = (part: readonly Stretch[], of: (stretch: Stretch) => number) => median(part.map(of));
    const value = (stretch: Stretch) => stretch[key];
    const compared = (stretch: Stretch) => stretch[key] / (beside === undefined ? 1 : stretch[beside]);
    return {
      name,
      unit,
      value: at(last, value),
      ratio: at(last, compared) / at(before, compared),
      against: `the third before${beside === undefined ? '' : ', each beside the echo app'}`,
      target: { of: 'ratio', is: 'at most', bound: flatRatioMax },
    };
  });
}

function balance({ acknowledged, stored, lost, faults, redelivered }: Accounts): Figure[] {
  const none = { of: 'value', is: 'at most', bound: 0 } as const;
  return [
    figureOf('jobs acknowledged', acknowledged, ''),
    figureOf('jobs found at the end, with the archived ones', stored, ''),
    { ...figureOf('jobs lost', lost, ''), target: none },
    { ...figureOf('jobs twice, with a wrong end, or run again for no reason', faults, ''), target: none },
    figureOf('jobs run again because their worker had gone', redelivered, ''),
  ];
}
