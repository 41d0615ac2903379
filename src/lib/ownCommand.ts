import { delimiter, dirname, join } from 'node:path';
import { isPackaged, manifest, projectFolder } from './projectFolder.ts';
import { shellWord } from './shellWord.ts';

/** `npx` with a plain `svc` would run a package of that name, which is not this one. */
const byNpx = `npx ${manifest.name}`;
/** In the folder of a clone. Silent, because npm otherwise prints the script's name to standard output. */
const byScript = 'npm run -s svc --';

/** How to start the command line on another machine that has it from where this one has it. */
export const commandElsewhere: string = isPackaged ? byNpx : byScript;

/** The circumstances of this process; tests pass their own. */
interface Start {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** The file that Node was started with, by the path of its link. */
  script?: string | undefined;
  isPackaged?: boolean;
}

/** How to start the command line again where this process was started: lines that it prints work as printed. */
export function ownCommand(start: Start): string {
  const { env, cwd, script = process.argv[1] ?? '' } = start;
  if (start.isPackaged ?? isPackaged) {
    const isOnPath = (env.PATH ?? '').split(delimiter).includes(dirname(script));
    // npx adds a folder to the path that only its own process has.
    return isOnPath && env.npm_command !== 'exec' ? 'svc' : byNpx;
  }
  if (cwd === projectFolder) return byScript;
  return `${shellWord(process.execPath)} ${shellWord(join(projectFolder, 'src/svc.ts'))}`;
}
