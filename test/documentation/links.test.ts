import { globSync } from 'node:fs';
import test from 'ava';
import MarkdownIt from 'markdown-it';
import { isElsewhere, isPage, targetOf } from '../../docs/.vitepress/places.ts';
import { slugOf } from '../../docs/.vitepress/slug.ts';
import { auditActions } from '../../src/domain/audit.ts';
import { page, root } from './pages.ts';

const markdown = new MarkdownIt({ html: true });
const files = [...globSync('{*.md,docs/**/*.md,.github/**/*.md,bench/*.md,data/*.md}', { cwd: root })].filter(
  (file) => !file.includes('node_modules'),
);

interface Parsed {
  /** Relative links and images, as they are written. */
  hrefs: string[];
  /** Anchors of its headings, as GitHub makes them. */
  anchors: Set<string>;
}

function parse(text: string): Parsed {
  const hrefs: string[] = [];
  const anchors = new Set<string>();
  const tokens = markdown.parse(text, {});
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const slug = slugOf((tokens[index + 1]?.children ?? []).map(({ content }) => content).join(''));
      let anchor = slug;
      for (let again = 1; anchors.has(anchor); again += 1) anchor = `${slug}-${again}`;
      anchors.add(anchor);
    }
    for (const part of [token, ...(token.children ?? [])]) {
      hrefs.push(...[part.attrGet('href'), part.attrGet('src')].filter((href) => href !== null).map(String));
      if (part.type.startsWith('html'))
        hrefs.push(
          ...[...part.content.matchAll(/(?:href|src|srcset)="([^"]+)"/g)].map(([, href = '']) => href),
        );
    }
  }
  return { hrefs: hrefs.filter((href) => href.startsWith('#') || !isElsewhere(href)), anchors };
}

const parsed = new Map(files.map((file) => [file, parse(page(file))]));

test('every relative link of the documents leads to a file, and to a heading where it names one', (t) => {
  let count = 0;
  for (const [from, { hrefs }] of parsed) {
    for (const href of hrefs) {
      count += 1;
      let target: ReturnType<typeof targetOf>;
      try {
        target = targetOf(from, href);
      } catch (error) {
        t.fail(String(error));
        continue;
      }
      const anchors = parsed.get(target.file)?.anchors;
      const isHeading = target.anchor === '' || anchors?.has(decodeURI(target.anchor.slice(1)));
      t.true(isHeading, `${from}: ${href} names a heading that ${target.file} does not have`);
    }
  }
  t.true(count > 400);
});

test('every page of the site can be reached from the README', (t) => {
  const reached = new Set(['README.md']);
  for (const from of reached) {
    for (const href of parsed.get(from)?.hrefs ?? []) {
      const { file } = targetOf(from, href);
      if (parsed.has(file)) reached.add(file);
    }
  }
  const pages = files.filter((file) => isPage(file) && !file.startsWith('docs/texts/'));
  t.deepEqual(
    pages.filter((file) => !reached.has(file)),
    [],
  );
});

test('anchors are as GitHub makes them', (t) => {
  t.is(slugOf("OpenAI's Batch API"), 'openais-batch-api');
  t.is(slugOf('`svc run`: files & runs'), 'svc-run-files--runs');
});

test('docs/api.md names every action of the audit log', (t) => {
  const text = page('docs/api.md');
  t.deepEqual(
    auditActions.filter((action) => !text.includes(`\`${action}\``)),
    [],
  );
});
