import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { runCommandLine } from '../../src/commands/main.ts';
import { fakeIo } from '../commands/screens.ts';
import { type Owner, temporaryFolder } from '../support/folder.ts';
import { type Block, root } from './pages.ts';

/*
 * Runs the shell blocks of a page one after the other in one shell, as a reader does. `svc` on its path is a small script: what runs
 * on (`coordinator`, `worker`) becomes a process, and every other command runs in this one, which takes a tenth of the time.
 */

/** Takes the place of `svc`. Arguments and environment are passed with zero bytes between them, which keeps every character. */
const svcScript = `#!/bin/sh
case "$1" in
coordinator) exec "$DOCS_NODE" "$DOCS_ENTRY" "$@" ;;
worker)
  # OpenAI is the server of the test for the worker alone: the coordinator looks up OpenAI's prices.
  if [ -f svc.config.yaml ]; then
    sed "s|^  openai:$|&\\n    base_url: $DOCS_MODELS/v1\\n    api_key_env: OPENAI_API_KEY|" svc.config.yaml > "$DOCS_CALLS/worker-$$.yaml"
    SVC_CONFIG="$DOCS_CALLS/worker-$$.yaml"
    export SVC_CONFIG
  fi
  exec "$DOCS_NODE" "$DOCS_ENTRY" "$@"
  ;;
esac
call=$(mktemp -d "$DOCS_CALLS/XXXXXX")
printf '%s\\0' "$@" > "$call/args"
env -0 > "$call/env"
cat > "$call/in"
code=$(command curl -s --unix-socket "$DOCS_CALLS/socket" "http://svc/\${call##*/}")
cat "$call/out"
cat "$call/err" >&2
exit "$code"
`;

/** What a page is run with. */
export interface Scene {
  /** Where the shell starts. */
  cwd: string;
  /** Address of the coordinator, in place of the ones that pages suppose. */
  url: string;
  env: Record<string, string>;
  /** Further texts to replace. */
  replaced?: Record<string, string>;
  /** Address of the server that takes the place of all models. */
  models: string;
}

/** What a block printed, on both outputs. */
export interface Printed {
  block: Block;
  text: string;
}

/** An answer that is an error fails the block. */
const curl = 'curl() { command curl --fail-with-body "$@"; }';

/** @returns what each block printed, up to the one that failed, and how. */
export async function runBlocks(
  t: Owner,
  blocks: readonly Block[],
  scene: Scene,
): Promise<{ printed: Printed[]; fault: string | null }> {
  const folder = temporaryFolder(t);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'svc'), svcScript);
  chmodSync(join(bin, 'svc'), 0o755);
  await answerCalls(t, folder);
  const script = blocks.map((block, index) =>
    stepOf(textOf(block, scene), block.mark, join(folder, `${index}`)),
  );
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
  const shell = spawn('sh', ['-c', `set -e\n${curl}\n${script.join('\n')}\necho end > '${folder}/at'`], {
    cwd: scene.cwd,
    env: {
      HOME,
      NODE_COMPILE_CACHE,
      PATH: `${bin}:${PATH}`,
      DOCS_CALLS: folder,
      DOCS_NODE: process.execPath,
      DOCS_ENTRY: join(root, 'src/svc.ts'),
      DOCS_MODELS: scene.models,
      ...scene.env,
    },
    // A group of its own, which ends with all that runs on.
    detached: true,
    stdio: 'ignore',
  });
  t.teardown(() => {
    try {
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
    } catch {
      // Nothing ran on.
    }
  });
  const code = await new Promise((resolve) => shell.on('exit', resolve));
  const printed = blocks.flatMap((block, index) => {
    const file = join(folder, `${index}`);
    return existsSync(file) ? [{ block, text: readFileSync(file, 'utf8') }] : [];
  });
  const at = readFileSync(join(folder, 'at'), 'utf8').trim();
  if (at === 'end') return { printed, fault: null };
  return { printed, fault: `exit code ${code}\n${blocks[Number(at)]?.text}\n${printed.at(-1)?.text}` };
}

/** A block with the addresses and keys of this scene. */
function textOf({ text }: Block, { url, replaced = {} }: Scene): string {
  const all: Record<string, string> = {
    'http://127.0.0.1:7420': url,
    'http://coordinator:7420': url,
    'sk-…': 'sk-of-the-test',
    // The one that the page has just created.
    'svc_worker_…': `$(grep -oh 'svc_worker_[A-Za-z0-9_-]*' "$DOCS_CALLS"/[0-9]* | tail -1)`,
    ...replaced,
  };
  return Object.entries(all).reduce((sum, [from, to]) => sum.replaceAll(from, to), text);
}

/** The lines of the script for one block, which print into a file. */
function stepOf(text: string, mark: string | null, file: string): string {
  const begin = `echo '${file}' | sed 's|.*/||' > "$DOCS_CALLS/at"`;
  if (mark === 'runs on') {
    const ready = text.includes('svc worker') ? '"msg":"connected"' : 'SVC coordinator is ready';
    return [
      begin,
      `(\n${text}) > '${file}' 2>&1 &`,
      `until grep -q '${ready}' '${file}'; do kill -0 $! || exit 98; sleep 0.2; done`,
    ].join('\n');
  }
  const [, code] = /^exits with (\d+)$/.exec(mark ?? '') ?? [];
  if (code === undefined) return `${begin}\n{\n${text}} > '${file}' 2>&1`;
  return [begin, `set +e\n{\n${text}} > '${file}' 2>&1`, `[ $? = ${code} ] || exit 99\nset -e`].join('\n');
}

/** Run the commands whose folders are named on a socket, in this process. */
async function answerCalls(t: Owner, folder: string): Promise<void> {
  const server = createServer(async ({ url = '' }, response) => {
    const call = join(folder, url.slice(1));
    const read = (name: string) => readFileSync(join(call, name), 'utf8');
    const env = Object.fromEntries(
      read('env')
        .split('\0')
        .filter((line) => line !== '')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    const { io, out, err } = fakeIo({ cwd: env.PWD ?? '/', env, input: read('in') });
    const args = read('args').split('\0').slice(0, -1);
    const code = await runCommandLine(args, io);
    writeFileSync(join(call, 'out'), out());
    writeFileSync(join(call, 'err'), err());
    response.end(String(code));
  });
  server.listen(join(folder, 'socket'));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
}
