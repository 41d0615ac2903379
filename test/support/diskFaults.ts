import { execFileSync, spawn } from 'node:child_process';
import type { ExecutionContext } from 'ava';
import { messageOf } from '../../src/domain/errors.ts';
import { within } from './process.ts';

/** Why no system call of another process can be made to fail here; null when it can. */
export const faultsTrouble = ((): string | null => {
  try {
    execFileSync('sh', ['-c', 'sleep 0.2 & exec strace -qq -o /dev/null -e inject=fsync:error=EIO -p $!'], {
      stdio: 'pipe',
    });
    return null;
  } catch (error) {
    return messageOf(error).split('\n').join(' ').trim();
  }
})();

/**
 * Make system calls of a running process fail, as a disk does that cannot do them. Resolves when it is in force; ends with
 * the process or the test.
 * @param faults as strace(1) has them after `inject=`. @param path of the file that the calls are about.
 */
export async function injectFaults(
  t: ExecutionContext,
  pid: number,
  faults: readonly string[],
  path: string,
): Promise<void> {
  const injections = faults.flatMap((fault) => ['-e', `inject=${fault}`]);
  const args = ['-f', '-o', '/dev/null', '-P', path, ...injections, '-p', String(pid)];
  const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => strace.once('close', () => resolve()));
  t.teardown(async () => {
    strace.kill('SIGTERM');
    await ended;
  });
  let said = '';
  const attached = new Promise<void>((resolve, reject) => {
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('attached')) resolve();
    });
    void ended.then(() => reject(new Error(`strace ended: ${said}`)));
  });
  await within('strace is attached', attached);
}
