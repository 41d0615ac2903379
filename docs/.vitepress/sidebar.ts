import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultTheme } from 'vitepress';
import { pageOf, root } from './places.ts';

type Item = DefaultTheme.SidebarItem;

/** The first heading of a page. */
function titleOf(file: string): string {
  const [, title = file] = /^# (.+)$/m.exec(readFileSync(join(root, file), 'utf8')) ?? [];
  return title.replaceAll('`', '');
}

/** A page of `docs/`. @param text instead of its title. */
function page(name: string, text?: string): Item {
  const file = `docs/${name}`;
  return { text: text ?? titleOf(file), link: `/${pageOf(file)}` };
}

/** Every page of a folder of `docs/` but its index. */
function folder(name: string): Item[] {
  const path = join(root, 'docs', name);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort()
    .map((file) => page(`${name}/${file}`));
}

export const sidebar: Item[] = [
  {
    text: 'Start',
    items: [
      { text: 'What SVC is', link: '/' },
      page('first-ten-minutes.md'),
      page('install/README.md', 'Installation'),
      page('comparison.md', 'Comparison'),
    ],
  },
  { text: 'Recipes', items: folder('recipes') },
  {
    text: 'Use',
    items: [
      page('runs.md'),
      page('workers.md'),
      page('companion.md'),
      { ...page('providers/README.md'), collapsed: true, items: folder('providers') },
      page('configuration.md'),
      page('cost.md'),
      page('webhooks.md'),
      page('dashboard.md'),
    ],
  },
  {
    text: 'Interfaces',
    items: [
      page('api.md', 'HTTP API'),
      page('openai.md'),
      page('mcp.md'),
      page('live-events.md'),
      page('worker-protocol.md'),
    ],
  },
  {
    text: 'Operate',
    items: [page('operations.md'), page('security.md'), page('reliability.md'), page('performance.md')],
  },
  {
    text: 'Develop',
    items: [
      page('development.md'),
      { ...page('decisions/README.md'), collapsed: true, items: folder('decisions') },
      { text: 'Changes', link: '/changelog' },
      { text: 'Texts of the demo', collapsed: true, items: folder('texts') },
    ],
  },
];
