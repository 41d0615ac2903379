import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CoordinatorSetup, Kept, Order, Reply, Sample, Seed, Subscribers } from './messages.ts';
import { setupVariable } from './messages.ts';
import { type Bench, temporaryFolder } from './scenario.ts';

/** An admin key for everything that this run starts. */
export const apiKey = randomBytes(24).toString('hex');
export const svc = join(import.meta.dirname, '../../src/svc.ts');

/** How long a process may take to be ready, and a seeder to store a million jobs, ms. */
const readyMsMax = 120_000;
const seedMsMax = 900_000;
/** How long a process may take to end by itself before it is killed, ms. */
const endMsMax = 10_000;
const logTail = 2_000;

/** Nothing of the caller's environment: a SVC_… variable there must not change what is measured. */
export function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, SVC_API_KEY: apiKey, ...extra };
}

/** A server under test in a process of its own. */
export interface ServerProcess {
  url: string;
  pid: number;
  /** Start counting what it spends. */
  measure(): Promise<void>;
  /** What it has spent since. */
  report(): Promise<Sample>;
  /** Have it collect its garbage, and ask what it holds then. */
  collect(): Promise<Kept>;
  stop(): Promise<void>;
  /** End it as a power cut would. */
  kill(): Promise<void>;
  /** Resolves when it has ended, however it did. */
  ended: Promise<unknown>;
}

/**
 * The coordinator on a data folder.
 * @param configFile null: with the defaults. @param port 0: a free one. @param flags of Node.
 */
export function startCoordinator(
  bench: Bench,
  dataDir: string,
  configFile: string | null = null,
  { port = 0, flags = [] }: { port?: number; flags?: readonly string[] } = {},
): Promise<ServerProcess> {
  const setup: CoordinatorSetup = { dataDir, configFile, port };
  return startServer(bench, 'coordinatorProcess.ts', JSON.stringify(setup), flags);
}

/** The same middleware around a handler that keeps nothing. */
export function startEcho(bench: Bench): Promise<ServerProcess> {
  return startServer(bench, 'echoProcess.ts', '');
}

/** Subscribers of live events that only read; ready when all of them are connected. No profile: it is no process under test. */
export function startSubscribers(bench: Bench, subscribers: Subscribers): Promise<ServerProcess> {
  return startServer({ ...bench, profileFolder: null }, 'subscribersProcess.ts', JSON.stringify(subscribers));
}

/** Plays the providers of language models. */
export function startProvider(bench: Bench): Promise<ServerProcess> {
  return startServer({ ...bench, profileFolder: null }, 'providerProcess.ts', '');
}

/** `svc worker` with these arguments, which reports what it spends; its `url` is empty. */
export function startWorkerProcess(bench: Bench, args: readonly string[]): Promise<ServerProcess> {
  return startServer(bench, 'workerProcess.ts', JSON.stringify(args));
}

/** A process of the bench that answers its orders. @param file beside this one. */
export async function startServer(
  bench: Bench,
  file: string,
  setup: string,
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const child = forkChild(bench, file, setup, flags);
  const ended = once(child.process, 'exit');
  const stop = () => endChild(child.process, () => child.process.disconnect());
  bench.defer(stop);
  const ready = await child.reply('ready');
  const order = (message: Order) => child.process.send(message);
  return {
    url: ready.url,
    pid: child.process.pid ?? 0,
    measure: async () => {
      order({ type: 'measure' });
      await child.reply('measuring');
    },
    report: async () => {
      order({ type: 'report' });
      return child.reply('report');
    },
    collect: async () => {
      order({ type: 'collect' });
      return child.reply('collected');
    },
    stop,
    kill: () => endChild(child.process, () => child.process.kill('SIGKILL')),
    ended,
  };
}

/** Fill a new data folder with jobs; returns it. */
export async function seedFolder(bench: Bench, seed: Partial<Seed>): Promise<string> {
  const dataDir = join(temporaryFolder(bench), 'data');
  const whole: Seed = { pending: {}, completed: 0, afterCheckpoint: 0, promptBytes: 300, ...seed, dataDir };
  const total = Object.values(whole.pending).reduce((sum, count) => sum + count, whole.completed);
  bench.say(`storing ${total} jobs`);
  const child = forkChild({ ...bench, profileFolder: null }, 'seedProcess.ts', JSON.stringify(whole));
  bench.defer(() => endChild(child.process, () => child.process.kill('SIGKILL')));
  await child.reply('ready', seedMsMax);
  await endChild(child.process, () => {});
  return dataDir;
}

export interface Child {
  process: ChildProcess;
  /** The next reply of this type. @throws when the process ends, or says nothing for too long. */
  reply<T extends Reply['type']>(type: T, msMax?: number): Promise<Extract<Reply, { type: T }>>;
}

/** A process of the bench, with a folder of its own. @param file beside this one. @param flags of Node. */
export function forkChild(bench: Bench, file: string, setup: string, flags: readonly string[] = []): Child {
  const cwd = temporaryFolder(bench);
  const logFile = join(cwd, 'log');
  const log = openSync(logFile, 'w');
  const child = fork(join(import.meta.dirname, file), [], {
    cwd,
    env: environment({ [setupVariable]: setup }),
    execArgv: [...flags, ...profileFlags(bench, basename(file).replace(/Process\.ts$/, ''))],
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const reply = <T extends Reply['type']>(type: T, msMax = readyMsMax) =>
    new Promise<Extract<Reply, { type: T }>>((resolve, reject) => {
      const end = (problem: string) => {
        settle();
        reject(new Error(`${file} ${problem}:\n${readFileSync(logFile, 'utf8').slice(-logTail)}`));
      };
      const onExit = (code: number | null) => end(`ended with code ${code}`);
      const onMessage = (message: Reply) => {
        if (message.type !== type) return;
        settle();
        resolve(message as Extract<Reply, { type: T }>);
      };
      const timer = setTimeout(() => end(`said nothing for ${msMax} ms`), msMax);
      const settle = () => {
        clearTimeout(timer);
        child.off('message', onMessage);
        child.off('exit', onExit);
      };
      child.on('message', onMessage);
      child.once('exit', onExit);
      if (child.exitCode !== null) onExit(child.exitCode);
    });
  return { process: child, reply };
}

/** A program as a user starts it. */
export interface Program {
  process: ChildProcess;
  /** @throws with the end of its log when it has ended. */
  assertRuns(): void;
}

/** Start `svc` with these arguments. @param name of the folder of its profiles. @param key in place of the admin key. */
export function spawnSvc(bench: Bench, args: readonly string[], name: string, key = apiKey): Program {
  return spawnNode(bench, [svc, ...args], name, environment({ SVC_API_KEY: key }));
}

/** Start a program of Node. @param command its file and arguments. @param name of the folder of its profiles. */
export function spawnNode(
  bench: Bench,
  command: readonly string[],
  name: string,
  env: NodeJS.ProcessEnv,
): Program {
  const cwd = temporaryFolder(bench);
  const logFile = join(cwd, 'log');
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [...profileFlags(bench, name), ...command], {
    cwd,
    env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  bench.defer(() => endChild(child, () => child.kill('SIGTERM')));
  // The others end when the channel to them closes; this one has none.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const assertRuns = () => {
    if (child.exitCode === null && child.signalCode === null) return;
    throw new Error(`${name} has ended:\n${readFileSync(logFile, 'utf8').slice(-logTail)}`);
  };
  return { process: child, assertRuns };
}

function profileFlags({ profileFolder }: Bench, name: string): string[] {
  if (profileFolder === null) return [];
  // A folder for each, because threads write profiles of their own; the main thread's has a 0 after the process id.
  return ['--cpu-prof', `--cpu-prof-dir=${join(profileFolder, name)}`];
}

/** Ask a process to end, and kill it when it does not. */
export async function endChild(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), endMsMax);
  ask();
  await ended;
  clearTimeout(timer);
}
