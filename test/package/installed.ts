import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { projectFolder } from '../../src/lib/projectFolder.ts';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A file of a packed package. */
interface PackedFile {
  path: string;
  size: number;
}

export interface Packed {
  file: string;
  /** Bytes of the archive. */
  size: number;
  files: PackedFile[];
}

/** Our own settings and those of npm would reach a program that a user starts without them. Certificates are the machine's. */
const own = Object.entries(process.env).filter(
  ([key]) => !/^(SVC_|npm_|NODE_(?!EXTRA_CA_CERTS)|NO_COLOR|FORCE_COLOR)/i.test(key),
);

/** Run a program in a folder, on the Node of the tests. */
export async function run(
  t: ExecutionContext,
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<Ended> {
  return end(start(t, command, args, options));
}

/** Start a program that goes on until it is ended. */
export function start(
  t: ExecutionContext,
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): ChildProcess {
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const child = spawn(command, args, {
    cwd,
    env: { ...Object.fromEntries(own), PATH: path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

/** The end of a program, with what it printed. */
export async function end(child: ChildProcess): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, ...printed };
}

/** Waits for a text on standard output or standard error. */
export function printed(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let all = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (more: string) => {
        all += more;
        if (all.includes(text)) resolve();
      });
    child.on('close', (code) => reject(new Error(`ended with ${code} without "${text}":\n${all}`)));
  });
}

/** What `npm pack` reads; `dist` is built anew, in a copy, because other tests use that of the clone. */
const packedFrom = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'docs/install',
  'docs/texts',
  'machines',
  'package.json',
  'src',
  'tsconfig.json',
];

/** Build and pack the project as for a release, into a folder. */
export async function pack(t: ExecutionContext, folder: string): Promise<Packed> {
  const clone = join(folder, 'clone');
  for (const name of packedFrom) {
    const from = join(projectFolder, name);
    if (existsSync(from)) cpSync(from, join(clone, name), { recursive: true });
  }
  symlinkSync(join(projectFolder, 'node_modules'), join(clone, 'node_modules'));
  const { code, stdout, stderr } = await run(
    t,
    'npm',
    ['pack', '--json', '--silent', '--pack-destination', folder],
    { cwd: clone, env: { PATH: [join(clone, 'node_modules/.bin'), process.env.PATH].join(delimiter) } },
  );
  if (code !== 0) throw new Error(`npm pack ended with ${code}: ${stderr}`);
  const name = readdirSync(folder).find((one) => one.endsWith('.tgz'));
  const { size, files } = firstPacked(JSON.parse(stdout.slice(stdout.search(/^[[{]/m))));
  return { file: join(folder, name ?? ''), size, files };
}

/** npm 12 answers by name, older ones a list. */
function firstPacked(answer: Record<string, Omit<Packed, 'file'>>): Omit<Packed, 'file'> {
  const [first] = Object.values(answer);
  if (first === undefined) throw new Error('npm pack named no package');
  return first;
}

/** npm, where it has a package neither in its cache nor from a registry. */
const unreachable = /ENOTCACHED|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|E40[34]|ENETUNREACH/;

/** Install a packed package into an empty folder. @returns the folder; null where the registry cannot be reached. */
export async function install(t: ExecutionContext, folder: string, packed: string): Promise<string | null> {
  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"private": true, "type": "module"}');
  const { code, stderr } = await run(
    t,
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', packed],
    { cwd: app },
  );
  if (code === 0) return app;
  if (unreachable.test(stderr)) return null;
  throw new Error(`npm install ended with ${code}: ${stderr}`);
}

/** A JSON file. */
export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8'));
}
