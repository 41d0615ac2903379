import { readFile } from 'node:fs/promises';
import test from 'ava';
import { variableNames } from '../../src/config/environment.ts';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { presentConfig } from '../../src/config/present.ts';
import { folderWith } from './folder.ts';

const page = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8');

test('the example of the documentation is a configuration without a fault or a warning', (t) => {
  const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  t.true(example.includes('routing:'));
  const { problems, warnings } = parseConfig(example, 'docs');
  t.deepEqual([problems, warnings], [[], []]);
});

test('the documentation names every key and tells its default', async (t) => {
  const { config } = await loadConfig({ env: {}, cwd: await folderWith(t) });
  const { providers: _providers, pricing: _pricing, ...rest } = presentConfig(config);
  for (const [key, value] of leavesOf(rest)) {
    if (key.startsWith('jobs.priorities')) continue;
    const row = page.split('\n').find((line) => line.startsWith(`| \`${key}\``));
    t.truthy(row, key);
    // A path depends on the folder, and where nothing is set the page says what happens then.
    const isTold = typeof value === 'object' || key === 'store.path';
    if (!isTold) t.regex(row ?? '', new RegExp(`^\\| \`${key}\` \\| \`?${value}\`? \\|`), key);
  }
});

test('the documentation names every variable, and none of them is taken for a misspelt one', (t) => {
  const [, table = ''] = page.split('## Environment');
  const named =
    (table.split('\n## ')[0] ?? '')
      .match(/^\|.*?\|/gm)
      ?.join('')
      .match(/SVC_[A-Z_]+/g) ?? [];
  t.deepEqual(named.sort(), [...variableNames]);
});

function leavesOf(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, member]) =>
    leavesOf(member, path === '' ? key : `${path}.${key}`),
  );
}
