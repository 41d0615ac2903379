import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { backlog } from './backlog.ts';
import { batch } from './batch.ts';
import { bulk } from './bulk.ts';
import { dispatch } from './dispatch.ts';
import { drain } from './drain.ts';
import { fleet } from './fleet.ts';
import { fronts } from './fronts.ts';
import { gateway } from './gateway.ts';
import { lists } from './lists.ts';
import { makespan } from './makespan.ts';
import { million } from './million.ts';
import { factsOf } from './peers/facts.ts';
import { writeReport } from './peers/report.ts';
import { peers } from './peers.ts';
import { pickup } from './pickup.ts';
import { restart } from './restart.ts';
import { siege } from './siege.ts';
import { smoke } from './smoke.ts';
import { soak } from './soak.ts';
import { stall } from './stall.ts';
import { streams } from './streams.ts';
import { subscribers } from './subscribers.ts';
import { type Bench, type Figure, passes, type RunOrigin, type Scenario } from './support/scenario.ts';
import { webhooks } from './webhooks.ts';
import { worker } from './worker.ts';

const scenarios: readonly Scenario[] = [
  dispatch,
  fronts,
  batch,
  drain,
  makespan,
  backlog,
  fleet,
  restart,
  stall,
  pickup,
  lists,
  subscribers,
  streams,
  webhooks,
  worker,
  million,
  soak,
  siege,
  gateway,
  bulk,
  peers,
  smoke,
];
const resultsFile = join(import.meta.dirname, 'results.json');

const help = `Usage: node run.ts [scenario…] [--quick | --brief] [--large] [--minutes <n>] [--seconds <n>] [--report] [--profile <folder>]

Load on a real coordinator, in processes of their own on the loopback address. Without a scenario: all of them
but smoke, soak, which takes half an hour, siege, which takes ten minutes, and gateway, bulk and peers, which need \`npm ci\` in this
folder, the last two also the servers of the peers (apt-get install redis-server postgresql).

Scenarios:
${scenarios.map(({ name, about }) => `  ${name.padEnd(13)}${about}`).join('\n')}

Options:
  --quick             small sizes, about a minute in all: shows that it works, proves nothing
  --brief             peers with full sizes but few rounds, none made again: for a machine that is never quiet
  --large             peers also with 1,000,000 pending jobs
  --minutes <n>       how long soak takes; default 30
  --seconds <n>       how long siege takes; default 600
  --only <attacks>    what siege attacks with, separated by commas; default all
  --label <text>      the row of siege in docs/security.md; default "now"
  --report            write the figures of soak, gateway and bulk, and those of peers with the targets of whatever
                      else is run, into docs/performance.md, and those of siege into docs/security.md
  --profile <folder>  write CPU profiles of the processes under test there (.cpuprofile)
  --help              this text

Exit codes: 0 every target is held; 1 one is missed, or a scenario failed; 2 wrong usage.`;

const { positionals, values } = readArguments();
const quick = values.quick === true;
const chosen =
  positionals.length > 0 ? scenarios.filter(({ name }) => positionals.includes(name)) : defaults();
const profileFolder = values.profile === undefined ? null : resolve(values.profile);
if (profileFolder !== null) mkdirSync(profileFolder, { recursive: true });

const loadBefore = loadavg()[0] ?? 0;
const isMeasured = !quick && chosen.some((scenario) => scenario !== smoke);
if (loadBefore > 0.5 && isMeasured) {
  process.stderr.write(
    `The machine is busy (load ${loadBefore.toFixed(1)}): run this again when it is quiet.\n`,
  );
}
// So that the servers, which have no channel to the bench, end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const report: RunOrigin = {
  date: new Date().toISOString().slice(0, 10),
  command: `node run.ts ${process.argv.slice(2).join(' ')}`,
  loadBefore,
};
const results: Record<string, Figure[]> = {};
let isGood = true;
for (const scenario of chosen) {
  try {
    const figures = await runScenario(scenario);
    results[scenario.name] = figures;
    isGood &&= figures.every((figure) => passes(figure) !== false);
    print(figures);
  } catch (error) {
    isGood = false;
    process.stderr.write(
      `${scenario.name} failed: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
  }
}
const machine = { cpus: cpus().length, model: cpus()[0]?.model ?? '', node: process.version, loadBefore };
const all = { at: new Date().toISOString(), quick, machine, results };
writeFileSync(resultsFile, `${JSON.stringify(all, null, 2)}\n`);
if (values.report === true && results.peers !== undefined) await writeDocs();
process.exitCode = isGood ? 0 : 1;

function defaults(): readonly Scenario[] {
  return scenarios.filter(({ isOptional }) => isOptional !== true);
}

async function writeDocs(): Promise<void> {
  await withBench(async (bench) => {
    // These have parts of their own there.
    const apart = new Set([soak, gateway, bulk].map(({ name }) => name));
    const others = Object.entries(results).filter(([name]) => !apart.has(name));
    writeReport(
      others.flatMap(([, figures]) => figures),
      { ...report, facts: factsOf(bench, loadBefore) },
    );
  });
}

function readArguments() {
  try {
    const read = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        brief: { type: 'boolean' },
        large: { type: 'boolean' },
        minutes: { type: 'string' },
        seconds: { type: 'string' },
        only: { type: 'string' },
        label: { type: 'string' },
        report: { type: 'boolean' },
        profile: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
    const unknown = read.positionals.find((word) => !scenarios.some(({ name }) => name === word));
    for (const name of ['minutes', 'seconds'] as const)
      if (read.values[name] !== undefined && !(Number(read.values[name]) > 0))
        throw new TypeError(`--${name} takes a number above 0`);
    if (unknown !== undefined) throw new TypeError(`there is no scenario ${unknown}`);
    if (read.values.help === true) {
      process.stdout.write(`${help}\n`);
      process.exit(0);
    }
    return read;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}\n`);
    process.exit(2);
  }
}

async function runScenario(scenario: Scenario): Promise<Figure[]> {
  const startedAt = performance.now();
  process.stdout.write(`\n${scenario.name}: ${scenario.about}\n`);
  try {
    return await withBench((bench) => scenario.run(bench));
  } finally {
    process.stderr.write(`  took ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
  }
}

async function withBench<T>(use: (bench: Bench) => Promise<T>): Promise<T> {
  const tasks: (() => void | Promise<void>)[] = [];
  const bench: Bench = {
    quick,
    brief: values.brief === true,
    large: values.large === true,
    profileFolder,
    minutes: values.minutes === undefined ? null : Number(values.minutes),
    seconds: values.seconds === undefined ? null : Number(values.seconds),
    only: values.only?.split(',') ?? null,
    label: values.label ?? null,
    report: values.report === true ? report : null,
    say: (message) => process.stderr.write(`  ${message}\n`),
    defer: (task) => void tasks.push(task),
  };
  try {
    return await use(bench);
  } finally {
    for (const task of tasks.reverse()) await task();
  }
}

function print(figures: readonly Figure[]): void {
  const rows = figures.map((figure) => {
    const { name, value, unit, ratio, against, target } = figure;
    const passed = passes(figure);
    return [
      name,
      `${shown(value)} ${unit}`,
      ratio === null ? '' : `${shown(ratio)} × ${against}`,
      target === null ? '' : `${target.of} ${target.is} ${target.bound}`,
      passed === null ? '' : passed ? 'pass' : 'FAIL',
    ];
  });
  const table = [['', 'value', 'ratio', 'target', ''], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table) {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    process.stdout.write(`  ${line.trimEnd()}\n`);
  }
}

/** Three figures are as many as a noisy machine is good for. */
function shown(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
