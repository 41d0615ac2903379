import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { type Client, createClient } from '../../src/client/client.ts';
import { type Owner, temporaryFolder } from './folder.ts';

/** An admin key, so that one key opens the API and the worker socket. */
export const adminKey = 'an-admin-key-for-the-tests-0123456789';

/**
 * `http.fronts` of every coordinator whose test says no other: the same on every machine. With SVC_TEST_FRONTS=2 the tests
 * of whole processes show that a client finds no difference.
 */
const testFronts = Number(process.env.SVC_TEST_FRONTS ?? 0);

const root = join(import.meta.dirname, '..', '..');
const entry = join(root, 'src', 'svc.ts');
/** Far more than anything takes on a busy machine with two cores. */
const patienceMs = 30_000;
/** The first looks follow each other quickly; each look costs a coordinator some milliseconds. */
const pollMs = { first: 10, last: 80 };

/**
 * Ask again and again until the answer is neither undefined, null nor false.
 * @throws Error that says what did not come, after `timeoutMs`.
 */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T> | T,
  timeoutMs = patienceMs,
): Promise<Exclude<T, undefined | null | false>> {
  const end = performance.now() + timeoutMs;
  for (let pauseMs = pollMs.first; ; pauseMs = Math.min(pauseMs * 1.3, pollMs.last)) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) {
      return seen as Exclude<T, undefined | null | false>;
    }
    if (performance.now() > end)
      throw new Error(`not within ${timeoutMs} ms: ${typeof what === 'string' ? what : what()}`);
    await delay(pauseMs);
  }
}

/** The promise, or an error that says what did not come in time. */
export async function within<T>(what: string, promise: Promise<T>, timeoutMs = patienceMs): Promise<T> {
  const late = new AbortController();
  try {
    return await Promise.race([
      promise,
      delay(timeoutMs, undefined, { signal: late.signal }).then(() => {
        throw new Error(`not within ${timeoutMs} ms: ${what}`);
      }),
    ]);
  } finally {
    late.abort();
  }
}

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** One `svc …` as a user runs it, with none of our own settings; signals go to the very process that does the work. */
export class SvcProcess {
  readonly exited: Promise<Exit>;
  /** null while it lives. */
  exit: Exit | null = null;
  /** Its log. */
  out = '';
  /** What it tells people. */
  err = '';
  readonly #child: ChildProcess;
  #listeners: (() => void)[] = [];

  /** @param descriptors how many files and sockets it may have open; as many as we unless told. */
  constructor(
    args: readonly string[],
    {
      cwd,
      env = {},
      descriptors,
    }: { cwd: string; env?: Record<string, string>; descriptors?: number | undefined },
  ) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'));
    const command = [process.execPath, entry, ...args];
    const limited = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command];
    const [program = '', ...rest] = descriptors === undefined ? command : limited;
    this.#child = spawn(program, rest, {
      cwd,
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
      this.#wake();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
      this.#wake();
    });
    this.exited = new Promise((resolve) => {
      // 'close' and not 'exit': then all that it said has been read.
      this.#child.on('close', (code, signal) => {
        this.exit = { code, signal };
        this.#wake();
        resolve(this.exit);
      });
    });
  }

  /** Of the very process that does the work. @throws Error when it could not be started. */
  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('the process could not be started');
    return pid;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** `kill -9`; resolves when it is gone. */
  async kill(): Promise<Exit> {
    this.signal('SIGKILL');
    return this.exited;
  }

  /** The first match in its log or on its standard error. @throws Error with what it did say when it ends without. */
  async says(pattern: RegExp, timeoutMs = patienceMs): Promise<RegExpExecArray> {
    const found = new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(this.err) ?? pattern.exec(this.out);
        if (match !== null) resolve(match);
        else if (this.exit !== null) reject(new Error(`it ended without saying ${pattern}: ${this.said()}`));
        else this.#listeners.push(look);
      };
      look();
    });
    return within(`it says ${pattern}`, found, timeoutMs);
  }

  /** All it said, for the message of a failure. */
  said(): string {
    return `${JSON.stringify(this.exit)}\n${this.err}\n${this.out}`;
  }

  #wake(): void {
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const look of listeners) look();
  }
}

/** What a coordinator is started with. */
export interface CoordinatorOptions {
  /** Of the store; a temporary one unless told. */
  folder?: string | undefined;
  port?: number | undefined;
  /** Laid over quick clocks; the blocks `jobs` and `http` key by key. */
  config?:
    | { jobs?: Record<string, unknown>; http?: Record<string, unknown>; [block: string]: unknown }
    | undefined;
  /** More of the command line. */
  args?: readonly string[] | undefined;
  /** How many files and sockets the process may have open. */
  descriptors?: number | undefined;
  /** More of its environment. */
  env?: Record<string, string> | undefined;
}

/** A coordinator process that answers, and what it takes to start it again. */
export interface Running {
  readonly process: SvcProcess;
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly client: Client;
  /** Another process on the same folder and port; this one must have ended. */
  again(): Promise<Running>;
}

/** Start a coordinator and wait until it listens; it is killed when the test ends. @throws Error when it does not start. */
export async function startCoordinator(t: Owner, options: CoordinatorOptions = {}): Promise<Running> {
  const folder = options.folder ?? temporaryFolder(t);
  const port = options.port ?? (await freePort());
  const settled = { ...options, folder, port };
  const svc = spawnCoordinator(t, settled);
  await svc.says(/ready at (\S+)/);
  const url = `http://127.0.0.1:${port}`;
  return {
    process: svc,
    url,
    port,
    folder,
    client: createClient({ baseUrl: url, apiKey: adminKey }),
    again: () => startCoordinator(t, settled),
  };
}

/**
 * One coordinator for all tests of a file that neither end it nor mind what others have left there.
 * @returns what gives it to a test.
 */
export function sharedCoordinator(options: CoordinatorOptions = {}): () => Running {
  const ends: (() => unknown)[] = [];
  let running: Running | null = null;
  test.before(async () => {
    running = await startCoordinator({ teardown: (end) => void ends.unshift(end) }, options);
  });
  test.after.always(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (running === null) throw new Error('it is started before the first test');
    return running;
  };
}

/** A coordinator that has been used, in which nothing waits or runs any more. */
export async function calmed(running: Running): Promise<Running> {
  await running.client.cancelMany({ filter: { status: ['pending', 'running'] } });
  return running;
}

/** `startCoordinator` without waiting: for starts that are refused or cut short. */
export function spawnCoordinator(
  t: Owner,
  {
    folder,
    port,
    config = {},
    args = [],
    descriptors,
    env = {},
  }: CoordinatorOptions & { folder: string; port: number },
): SvcProcess {
  const { jobs, http, ...rest } = config;
  const whole = {
    host: '127.0.0.1',
    port,
    store: { kind: 'json', path: folder },
    jobs: { heartbeat_interval_seconds: 0.5, reap_stale_after_seconds: 3, timeout_seconds: 60, ...jobs },
    http: { fronts: testFronts, ...http },
    ...rest,
  };
  const cwd = temporaryFolder(t);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(whole));
  const settings = { cwd, env: { SVC_API_KEY: adminKey, ...env }, descriptors };
  return ended(t, new SvcProcess(['coordinator', ...args], settings));
}

/** Start `svc worker …`; it is killed when the test ends. */
export function startWorker(t: Owner, { url }: { url: string }, args: readonly string[] = []): SvcProcess {
  const command = ['worker', '--provider', 'echo', '--coordinator', url, ...args];
  return ended(t, new SvcProcess(command, { cwd: temporaryFolder(t), env: { SVC_API_KEY: adminKey } }));
}

/**
 * A coordinator with an echo worker, and a job that says 3,000 words at its begin and then goes on for ten minutes.
 * @returns the job's id too.
 */
export async function startLongJob(t: Owner): Promise<Running & { id: string }> {
  const running = await startCoordinator(t);
  startWorker(t, running);
  const { id } = await running.client.dispatch({
    prompt: 'p',
    provider: 'echo',
    params: { echo_output: 'word '.repeat(3000), echo_delay_ms: 600_000 },
  });
  return { ...running, id };
}

/** Start `svc …args` with a configuration file of its own; it is killed when the test ends. */
export function startSvc(
  t: Owner,
  args: readonly string[],
  { env = {}, config = {} }: { env?: Record<string, string>; config?: object } = {},
): SvcProcess {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(config));
  return ended(t, new SvcProcess(args, { cwd, env: { SVC_API_KEY: adminKey, ...env } }));
}

function ended(t: Owner, svc: SvcProcess): SvcProcess {
  t.teardown(async () => {
    // One that was stopped by SIGSTOP dies of SIGKILL all the same.
    if (svc.exit === null) await svc.kill();
  });
  return svc;
}

/**
 * A port that nobody listens on, below those that the system gives to clients: while a coordinator is down one of its
 * own clients could else be given its port, and the restart would find it taken.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error('no free port was found');
}
