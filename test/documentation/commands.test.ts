import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parseConfig } from '../../src/config/load.ts';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey, freePort, startSvc, until } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { startModels } from './models.ts';
import { type Block, blocksOf, page, root } from './pages.ts';
import { type Printed, runBlocks } from './shell.ts';

process.setMaxListeners(0);

const recipes = readdirSync(join(root, 'docs/recipes')).filter((name) => name !== 'README.md');
const pages = ['README.md', 'docs/first-ten-minutes.md', ...recipes.map((name) => `docs/recipes/${name}`)];

/** Every block that no test runs, with the reason that the page gives. */
const notRun = [
  'README.md: installs into the clone: npm ci && npm start',
  'README.md: needs a key of OpenAI: SVC_API_KEY=$(svc keys create --role worker --name cloud) OPENAI_API_KEY=… \\',
  "README.md: needs two machines: # on the coordinator's machine",
  'README.md: runs every test: npm cit',
  'docs/first-ten-minutes.md: installs from the registry: npm install --global @svc-jobs/svc',
  'docs/first-ten-minutes.md: installs into the clone: npm ci',
  'docs/first-ten-minutes.md: downloads a model: ollama pull llama3.2:3b',
  'docs/first-ten-minutes.md: needs a key of OpenAI: SVC_API_KEY=$(svc keys create --role worker --name cloud) OPENAI_API_KEY=… svc worker --provider openai --name cloud',
  'docs/recipes/bulk-classification-gpu.md: needs a GPU: vllm serve Qwen/Qwen3-8B',
];

const works = (program: string, ...args: string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const hasTools =
  works('curl', '--fail-with-body', '--version') && works('openssl', 'version') && works('env', '-0');
const withTools = hasTools ? test : test.skip;
const hasPython = works('python3', '--version');

const isShell = ({ kind }: Block) => kind === 'sh';
const isRun = (block: Block) => isShell(block) && !(block.mark ?? '').startsWith('not run: ');

test('every command that no test runs is listed', (t) => {
  const skipped = pages.flatMap((name) =>
    blocksOf(page(name))
      .filter((block) => isShell(block) && !isRun(block))
      .map(({ mark, text }) => `${name}: ${mark?.slice('not run: '.length)}: ${text.split('\n')[0]}`),
  );
  t.deepEqual(skipped, notRun);
});

test('every mark above a block is one that the tests know', (t) => {
  for (const name of pages) {
    const text = page(name);
    const marks = blocksOf(text).flatMap(({ mark }) => (mark === null ? [] : [mark]));
    for (const mark of marks) t.regex(mark, /^(not run: .+|runs on|exits with \d+)$/, name);
    t.is([...text.matchAll(/^<!--/gm)].length, marks.length, `${name}: a mark must be right above its block`);
  }
});

test('the configurations of the recipes have no fault and no warning', (t) => {
  let count = 0;
  for (const name of pages) {
    for (const [, file, text = ''] of page(name).matchAll(/^cat > (\S+\.yaml) <<'END'\n([\s\S]*?)^END$/gm)) {
      const { problems, warnings } = parseConfig(text, `${name}: ${file}`);
      t.deepEqual([problems, warnings], [[], []], `${name}: ${file}`);
      count += 1;
    }
  }
  t.true(count >= 5);
});

withTools('the commands of the README run as printed', async (t) => {
  t.timeout(120_000);
  const models = await startModels(t);
  const coordinator = await startHere(t, { workers: 4 });
  const local = { base_url: `${models.url}/v1`, api_key_env: 'OPENAI_API_KEY' };
  startSvc(
    t,
    [
      'worker',
      '--provider',
      'openai',
      '--provider',
      'ollama',
      '--name',
      'box-1',
      '--coordinator',
      coordinator.url,
    ],
    {
      config: { providers: { openai: local, ollama: { base_url: models.url } } },
      env: { OPENAI_API_KEY: 'sk-of-the-test' },
    },
  );
  await until('the worker is connected', async () => (await coordinator.client.workers()).total >= 2);
  const params = { echo_fail: 'invalid_request' };
  const { id } = await coordinator.client.dispatch({ prompt: 'x', provider: 'echo', params });
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'prompts.txt'), 'First\nSecond\n');
  writeFileSync(join(cwd, 'docs.csv'), 'id,title,body\na,Rivers,The Rhine\nb,Lakes,Lake Constance\n');
  const { printed, fault } = await runBlocks(t, blocksOf(page('README.md')).filter(isRun), {
    cwd,
    url: coordinator.url,
    models: models.url,
    env: { SVC_COORDINATOR_URL: coordinator.url, SVC_API_KEY: adminKey },
    replaced: {
      ...aliasIn(root),
      'KEY=$(cat data/admin.key)': 'KEY=$SVC_API_KEY',
      '4be1c0aa': id.slice(-8),
    },
  });
  t.is(fault, null, fault ?? '');
  t.true(printed.length >= 4);
});

for (const name of pages.slice(1)) {
  const needsPython = page(name).includes('python3');
  const tried = needsPython && !hasPython ? test.skip : withTools;
  tried(`the commands of ${name} run as printed, and print what is shown`, async (t) => {
    t.timeout(120_000);
    const models = await startModels(t);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const blocks = blocksOf(page(name));
    const { printed, fault } = await runBlocks(t, blocks.filter(isRun), {
      cwd: temporaryFolder(t),
      url,
      models: models.url,
      env: {
        // Beyond this machine nothing needs to reach it.
        SVC_HOST: '127.0.0.1',
        SVC_PORT: String(port),
        SVC_COORDINATOR_URL: url,
        SVC_LOCAL_MODEL_HOST: models.url,
      },
      replaced: aliasIn(root),
    });
    t.is(fault, null, fault ?? '');
    comparePrinted(t, blocks, printed);
    t.deepEqual(models.faults, []);
  });
}

/** The alias of a clone, as it is in this one. An alias holds from the next line that the shell reads, so the script of `svc` stays. */
function aliasIn(folder: string): Record<string, string> {
  const alias = `alias svc="'$PWD/node_modules/.bin/node' '$PWD/src/svc.ts'"`;
  return { [alias]: `test -x '${folder}/node_modules/.bin/node' && test -f '${folder}/src/svc.ts'` };
}

/** Each line of a `text` block was printed by the block above it, in that order; `…` is anything and a number any number. */
function comparePrinted(t: ExecutionContext, blocks: readonly Block[], printed: readonly Printed[]): void {
  for (const [index, { kind, text }] of blocks.entries()) {
    const above = blocks[index - 1];
    const real = printed.find(({ block }) => block === above)?.text.split(/\r?\n/);
    if (kind !== 'text' || real === undefined) continue;
    for (const line of text.trim().split('\n')) {
      const pattern = new RegExp(
        `^${line
          .replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
          .replaceAll('…', '.*')
          .replaceAll(/\d+/g, '\\d+')
          .replaceAll(/ +/g, ' +')}$`,
      );
      const found = real.findIndex((one) => pattern.test(one));
      t.true(found >= 0, `${line}\nis not in\n${real.join('\n')}`);
      real.splice(0, found + 1);
    }
  }
}
