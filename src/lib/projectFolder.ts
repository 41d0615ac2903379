import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// An older Node must be able to load this file, to report that it is too old: no `import.meta.dirname`.
const here = fileURLToPath(import.meta.url);

/** Whether this is the compiled program of the npm package, and not the source of a clone. */
export const isPackaged: boolean = !here.endsWith('.ts');

/** The folder of package.json. The npm package has the compiled program in `dist/`, beside the files that it reads. */
export const projectFolder: string = join(dirname(here), isPackaged ? '../../..' : '../..');

interface Manifest {
  name: string;
  version: string;
  engines: { node: string };
}

/** The project's package.json. */
export const manifest: Manifest = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8'));
