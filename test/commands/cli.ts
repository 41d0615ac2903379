import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';

const entry = fileURLToPath(new URL('../../src/svc.ts', import.meta.url));

export const apiKey = '0123456789abcdef';

export interface CliOptions {
  cwd?: string;
  /** Beside SVC_API_KEY, which is set unless it is set to undefined here. */
  env?: Record<string, string | undefined>;
  /** Standard input. */
  input?: string;
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

/** Run the real command line as a child process, in a folder of its own, with none of our own SVC_* settings. */
export async function svc(t: ExecutionContext, args: string[], options: CliOptions = {}): Promise<Ended> {
  const { cwd = await emptyFolder(t), input, onOutput } = options;
  const own = Object.entries(process.env).filter(
    ([key]) => !/^(SVC_|NO_COLOR|FORCE_COLOR|NODE_OPTIONS)/.test(key),
  );
  const env = { ...Object.fromEntries(own), SVC_API_KEY: apiKey, ...options.env };
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

export async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-cli-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
