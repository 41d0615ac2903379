import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, temporaryFolder } from '../support/scenario.ts';

/** How long a server may take until it answers, ms. */
const readyMsMax = 120_000;
const pollMs = 2;

/** A Redis or PostgreSQL server of the bench's own, on a free port, in a folder that goes with the scenario. */
export interface Server {
  url: string;
  pid(): number;
  folder: string;
  /** Kill it as a power cut would, start it again. @returns ms from its start to its first answer. */
  restart(): Promise<number>;
  stop(): Promise<void>;
}

interface Plan {
  name: string;
  url: (port: number) => string;
  folder: string;
  port: number;
  command: readonly [string, ...string[]];
  /** One question over a new connection; whether the server answers it as one that is ready does. */
  ask(port: number): Promise<boolean>;
  /** What asks it to end at once, in good order. */
  endSignal: NodeJS.Signals;
}

/** Start a server and wait until it answers. */
export async function startServer(bench: Bench, plan: Plan): Promise<Server> {
  let child = await launch(plan);
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  bench.defer(() => stop(plan.endSignal));
  return {
    url: plan.url(plan.port),
    pid: () => child.pid ?? 0,
    folder: plan.folder,
    restart: async () => {
      await stop('SIGKILL');
      const startedAt = performance.now();
      child = await launch(plan);
      return performance.now() - startedAt;
    },
    stop: () => stop(plan.endSignal),
  };
}

async function launch({ name, folder, port, command, ask }: Plan): Promise<ChildProcess> {
  const [file, ...args] = command;
  const logFile = join(folder, 'server.log');
  const log = openSync(logFile, 'a');
  const child = spawn(file, args, { cwd: folder, stdio: ['ignore', log, log], ...owner() });
  closeSync(log);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const startedAt = performance.now();
  while (!(await ask(port))) {
    const isOver = child.exitCode !== null || performance.now() - startedAt > readyMsMax;
    if (isOver) throw new Error(`${name} does not answer:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
    await sleep(pollMs);
  }
  return child;
}

/** A new folder that the unprivileged user of the servers owns. */
export function serverFolder(bench: Bench): string {
  const folder = temporaryFolder(bench);
  const { uid, gid } = owner();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/**
 * Whom the servers run as: the caller, or for root `postgres`, whom the Debian package makes, because PostgreSQL refuses
 * to run as root.
 */
export function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

const packages = 'apt-get install redis-server postgresql';

/** Where a program is. Debian keeps PostgreSQL's in a folder for each version: the newest counts. @throws how to get it. */
export function findProgram(name: string): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} is not installed. The peers need both: ${packages}`);
  return found;
}

/** Ask over a new connection. @returns what came first; empty when nothing did. */
export function askPort(port: number, question: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(question));
    const end = (answer: Buffer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', end);
    socket.once('error', () => end(Buffer.alloc(0)));
    socket.once('close', () => end(Buffer.alloc(0)));
  });
}
