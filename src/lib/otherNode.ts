/* Runs this program on the Node of the npm package `node`, where the machine's own is too old. An older Node must be able to
   load this file. */

import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { nodeNeeded } from './nodeVersion.ts';

const windowsName = 'node.exe';

/**
 * Run the same command with the Node of the package `node`, if it is installed beside this one.
 * @returns the exit code; 1, with a message on standard error, without such a package.
 */
export function runOnOtherNode(args: readonly string[]): Promise<number> {
  const node = packagedNode();
  if (node !== null) return run(node, args);
  process.stderr.write(
    `SVC needs Node ${nodeNeeded} or newer, and this is ${process.version}. Install a newer one from https://nodejs.org, or\nadd the npm package \`node\` where SVC is installed: npm install node\n`,
  );
  return Promise.resolve(1);
}

/** The program of the package `node`; null if it is not installed, or is what runs this already. */
function packagedNode(): string | null {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'));
    const name = process.platform === 'win32' ? windowsName : 'node';
    const path = join(folder, 'bin', name);
    return existsSync(path) && realpathSync(path) !== realpathSync(process.execPath) ? path : null;
  } catch {
    return null;
  }
}

function run(node: string, args: readonly string[]): Promise<number> {
  const child = spawn(node, [...process.execArgv, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    // A terminal sends the last two to the child as well, and a second one would end it at once.
    const isShared = signal !== 'SIGTERM' && process.stdin.isTTY === true;
    process.on(signal, () => {
      if (!isShared) child.kill(signal);
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}
