import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** The folder of the clone. */
export const root: string = join(import.meta.dirname, '../..');

/** Where a page of the clone is on the site. @param file path from the clone's folder. */
export function pageOf(file: string): string {
  return file
    .replace(/^docs\//, '')
    .replace(/^CHANGELOG\.md$/, 'changelog.md')
    .replace(/(^|\/)README\.md$/, '$1index.md');
}

/** Whether a file of the clone is a page of the site. */
export function isPage(file: string): boolean {
  return /^(docs\/(?!\.).*|README|CHANGELOG)\.md$/.test(file);
}

/**
 * Where a relative link of a page leads, as GitHub follows it.
 * @param from path of the page from the clone's folder.
 * @returns the path from the clone's folder, `README.md` for a folder that has one, and the part from `#` on.
 * @throws if there is no such file: that fails the build.
 */
export function targetOf(from: string, href: string): { file: string; anchor: string; isFolder: boolean } {
  const [path = '', fragment] = href.split('#', 2);
  const anchor = fragment === undefined ? '' : `#${fragment}`;
  const place = path === '' ? join(root, from) : join(root, dirname(from), decodeURIComponent(path));
  if (!existsSync(place)) throw new Error(`${from}: the link to ${href} leads nowhere`);
  const isFolder = statSync(place).isDirectory();
  const file = relative(root, isFolder ? join(place, 'README.md') : place)
    .split(sep)
    .join('/');
  if (!isFolder || existsSync(join(root, file))) return { file, anchor, isFolder: false };
  return { file: dirname(file), anchor, isFolder };
}

/** A link to something else than a file of the clone. */
export function isElsewhere(href: string): boolean {
  return /^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(href);
}
