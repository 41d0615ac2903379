import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { siteLinks } from './links.ts';
import { isPage, pageOf, root } from './places.ts';
import { sidebar } from './sidebar.ts';
import { slugOf } from './slug.ts';

/** Where the site will be: `/` or the path of a project's pages, such as `/svc/`. */
const base = process.env.SITE_BASE ?? '/';
/** Known in a workflow of GitHub. */
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
const commit = () => execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
const address = server === undefined || repository === undefined ? undefined : `${server}/${repository}`;

/** The dashboard's. */
const icon = await readFile(join(root, 'src/dashboard/public/icon.svg'));
const installed = (name: string) => fileURLToPath(import.meta.resolve(name));

/** Files of `docs/` that pages link and that are no pages. */
const files = new Set<string>();

export default defineConfig({
  title: 'SVC',
  description: 'Job coordinator for language models: durable queue, routing, leases, cost and a live view.',
  base,
  head: [['link', { rel: 'icon', href: `data:image/svg+xml;base64,${icon.toString('base64')}` }]],
  // The clone, so that README.md is the site's first page and links mean the same as on GitHub.
  srcDir: '..',
  srcExclude: ['{bench,data,dist,machines,node_modules,src,test}/**'],
  rewrites: pageOf,
  outDir: '../dist/site',
  cacheDir: './.vitepress/node_modules/.cache',
  metaChunk: true,
  vite: {
    // Pages are beside this folder and not in it, so nothing would be found from where they are.
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: installed('vue/server-renderer') },
        { find: /^vue$/, replacement: installed('vue/dist/vue.runtime.esm-bundler.js') },
      ],
    },
  },
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    config: (md) =>
      siteLinks(md, address && `${address}/{kind}/${commit()}`, (file) => {
        files.add(file);
      }),
  },
  themeConfig: {
    sidebar,
    outline: { level: [2, 3] },
    nav: [
      { text: 'First ten minutes', link: '/first-ten-minutes' },
      { text: 'Recipes', link: '/recipes/', activeMatch: '^/recipes/' },
      { text: 'HTTP API', link: '/api' },
    ],
    ...(address === undefined ? {} : { socialLinks: [{ icon: 'github', link: address }] }),
    search: {
      provider: 'local',
      options: {
        // The texts of the demo would answer for words that they only happen to have.
        _render: (source, env, md) =>
          env.relativePath.startsWith('texts/') ? '' : md.renderAsync(source, env),
      },
    },
  },
  async buildEnd({ outDir, pages }) {
    const stray = pages.filter((page) => !isPage(page));
    if (stray.length > 0) throw new Error(`No pages of the site: ${stray.join(', ')}`);
    for (const file of files) {
      const target = join(outDir, pageOf(file));
      await mkdir(dirname(target), { recursive: true });
      await copyFile(join(root, file), target);
    }
  },
});
