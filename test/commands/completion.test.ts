import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { emptyFolder, svc } from './cli.ts';

/** What a real shell offers after a line. */
type Complete = (script: string, line: readonly string[]) => string[];

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

const run = (shell: string, args: readonly string[]): string => {
  const { stdout, stderr, status } = spawnSync(shell, args, { encoding: 'utf8', timeout: 20_000 });
  if (status !== 0) throw new Error(`${shell}: ${stderr}`);
  return stdout;
};

const shells: Record<string, Complete> = {
  bash: (script, line) => {
    const code = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc; echo "\${COMPREPLY[@]}"`;
    return words(run('bash', ['-c', code, 'bash', script, ...line]));
  },
  zsh: (script, line) => {
    const code = `source "$1"; shift; _svc_words "\${@:1:$(($# - 1))}"; print -l -- \${(M)\${=_svc_found}:#\${@[-1]}*}`;
    return words(run('zsh', ['-fc', code, 'zsh', script, ...line]));
  },
  fish: (script, line) => {
    const offered = run('fish', ['-N', '-c', `source ${script}; complete -C "$argv"`, line.join(' ')]);
    return offered
      .trim()
      .split('\n')
      .map((one) => one.split('\t')[0] ?? '');
  },
};

async function scriptOf(t: ExecutionContext, shell: string): Promise<string> {
  const { code, stdout } = await svc(t, ['completion', shell]);
  t.is(code, 0);
  const file = join(await emptyFolder(t), 'svc');
  await writeFile(file, stdout);
  return file;
}

for (const [shell, complete] of Object.entries(shells)) {
  const isThere = spawnSync(shell, ['--version']).status === 0;
  (isThere ? test : test.skip)(`${shell} completes commands, options and their values`, async (t) => {
    const script = await scriptOf(t, shell);
    const offers = (line: readonly string[], wanted: readonly string[]) => {
      const offered = complete(script, line);
      for (const word of wanted) t.true(offered.includes(word), `${line.join(' ')}: ${offered.join(' ')}`);
    };
    offers(['svc', 'jo'], ['jobs']);
    offers(['svc', 'jobs', 'ex'], ['export']);
    offers(['svc', 'jobs', 'list', '--sta'], ['--status', '--state']);
    offers(['svc', 'jobs', 'export', '--format', ''], ['ndjson', 'csv']);
    offers(['svc', 'keys', 'create', '--role', ''], ['viewer', 'worker']);
    offers(['svc', 'runs', ''], ['list', 'status', 'results', 'retry', 'cancel', 'pause', 'resume', 'watch']);
    offers(['svc', 'run', '--output-format', ''], ['ndjson', 'csv', 'openai']);
    offers(['svc', 'completion', ''], ['bash', 'zsh', 'fish']);
  });
}
