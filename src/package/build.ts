import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { projectFolder } from '../lib/projectFolder.ts';

/**
 * `npm pack` and `npm publish` run this first: the program as JavaScript and the types of its client in `dist/`, beside
 * the dashboard. Node does not strip types in node_modules.
 */
const dist = join(projectFolder, 'dist');

for (const folder of ['src', 'machines']) rmSync(join(dist, folder), { recursive: true, force: true });
compile('tsconfig.json');
compile('tsconfig.types.json');
chmodSync(join(dist, 'src/svc.js'), 0o755);
for (const root of ['src/dashboard', 'src/companion/page']) {
  await build({ root: join(projectFolder, root), logLevel: 'warn' });
}

function compile(config: string): void {
  const { status, error } = spawnSync('tsc', ['-p', join(import.meta.dirname, config)], {
    stdio: 'inherit',
    // On Windows it is a script.
    shell: process.platform === 'win32',
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(1);
}
