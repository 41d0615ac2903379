import { relative, sep } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { isElsewhere, isPage, pageOf, root, targetOf } from './places.ts';

type Token = ReturnType<MarkdownRenderer['parse']>[number];

/** A picture that GitHub chooses by the reader's colours. The site has a switch of its own, so it needs both images. */
const picture =
  /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]*)">\s*<\/picture>/g;

/**
 * Links and images of pages as they work on GitHub, made to work on the site: pages lead to pages, files of `docs/` to copies of
 * them, and all others to the repository.
 * @param repository address of the files of this commit there, with `{kind}` for `blob` or `tree`; without one, such a link
 *   becomes text.
 * @param onFile called with a file of `docs/` that a page links and that is not a page.
 */
export function siteLinks(
  md: MarkdownRenderer,
  repository: string | undefined,
  onFile: (file: string) => void,
): void {
  const resolve = (from: string, href: string): string | undefined => {
    if (isElsewhere(href)) return href;
    const { file, anchor, isFolder } = targetOf(from, href);
    if (isPage(file)) return `/${pageOf(file)}${anchor}`;
    if (!isFolder && file.startsWith('docs/')) {
      onFile(file);
      return `/${pageOf(file)}`;
    }
    if (repository === undefined) return undefined;
    return `${repository.replace('{kind}', isFolder ? 'tree' : 'blob')}/${file}${anchor}`;
  };
  // Vite takes images in from where they are, by a path from the clone's folder.
  const image = (from: string, source: string) =>
    isElsewhere(source) ? source : `/${targetOf(from, source).file}`;

  const rewrite = (token: Token, from: string): void => {
    if (token.type === 'image') token.attrSet('src', image(from, token.attrGet('src') ?? ''));
    if (token.type === 'html_block' || token.type === 'html_inline') {
      token.content = token.content.replace(
        picture,
        (_, dark: string, light: string, alt: string) =>
          `<img class="only-dark" src="${image(from, dark)}" alt="${alt}"><img class="only-light" src="${image(from, light)}" alt="${alt}">`,
      );
    }
    if (token.type !== 'link_open') return;
    const href = resolve(from, token.attrGet('href') ?? '');
    if (href === undefined) {
      token.tag = 'span';
      token.attrs = [];
      return;
    }
    token.attrSet('href', href);
    // Otherwise the page would look for a page of that name.
    if (href.startsWith('/') && !/\.md(#|$)/.test(href)) token.attrSet('target', '_self');
  };

  md.core.ruler.push('svc_links', ({ tokens, env }) => {
    // `path` is where the page is on the site.
    const from = relative(root, (env.realPath ?? env.path) as string)
      .split(sep)
      .join('/');
    for (const token of tokens) {
      rewrite(token, from);
      const open: Token[] = [];
      for (const child of token.children ?? []) {
        rewrite(child, from);
        if (child.type === 'link_open') open.push(child);
        if (child.type === 'link_close') child.tag = open.pop()?.tag ?? 'a';
      }
    }
  });
}
