import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { runCommandLine } from '../../src/commands/main.ts';
import { isThorough } from '../support/depth.ts';
import { fakeIo } from './screens.ts';

const entry = fileURLToPath(new URL('../../src/svc.ts', import.meta.url));

// Each command that waits listens for signals until its process ends, and here many of them run in one.
process.setMaxListeners(0);

export const apiKey = '0123456789abcdef';

export interface CliOptions {
  cwd?: string;
  /** Beside SVC_API_KEY, which is set unless it is set to undefined here. */
  env?: Record<string, string | undefined>;
  /** Standard input. */
  input?: string;
}

/** What only a process of its own can do. */
export interface ProcessOptions extends CliOptions {
  /** Called with what sends a signal. */
  onStart?: (kill: (signal: NodeJS.Signals) => void) => void;
  /** Close standard output at its first byte, as `head` does. */
  closesOutput?: boolean;
  /** Called with the standard output so far; may end the process. */
  onOutput?: (text: string, kill: (signal: NodeJS.Signals) => void) => void;
  /** The same of standard error. */
  onError?: (text: string, kill: (signal: NodeJS.Signals) => void) => void;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Run the whole command line in a folder of its own, with none of our own SVC_* settings: in this process, or in one of its
 * own where `.ci/run` tries all that it can.
 */
export async function svc(t: ExecutionContext, args: string[], options: CliOptions = {}): Promise<Ended> {
  if (isThorough) return svcProcess(t, args, options);
  const { cwd = await emptyFolder(t), input } = options;
  const { io, out, err } = fakeIo({ cwd, env: environment(options), input: input ?? '' });
  const code = await runCommandLine(args, io);
  return { code, stdout: out(), stderr: err() };
}

/** The same as a child process, as a user runs it. */
export async function svcProcess(
  t: ExecutionContext,
  args: string[],
  options: ProcessOptions = {},
): Promise<Ended> {
  const { cwd = await emptyFolder(t), input, onOutput } = options;
  const env = environment(options);
  const child = spawn(process.execPath, [entry, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  options.onStart?.((signal) => child.kill(signal));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (options.closesOutput) child.stdout.destroy();
    onOutput?.(stdout, (signal) => child.kill(signal));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    options.onError?.(stderr, (signal) => child.kill(signal));
  });
  child.stdin.end(input ?? '');
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stdout, stderr };
}

function environment({ env }: CliOptions): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([key]) => !/^(SVC_|NO_COLOR|FORCE_COLOR|NODE_OPTIONS)/.test(key),
  );
  return { ...Object.fromEntries(own), SVC_API_KEY: apiKey, ...env };
}

export async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-cli-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
